# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What a search found: for each variant the settings that were tried, what each gave, and which was taken."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from saccade.analysis.report.compare import Comparison, Question, compare
from saccade.analysis.report.runs import Study, read_study
from saccade.analysis.report.words import UNKNOWN, decimals, fixed
from saccade.sweep.folder import SweepFolder
from saccade.sweep.record import sweep_file
from saccade.types import UserError


@dataclass(frozen=True)
class Tuning:
    """Search over settings.

    Attributes:
        comparison: of its runs.
        means: for each variant, the mean that each setting gave, in the order in which they are tried; None where no
            run has finished.
    """

    comparison: Comparison
    means: Mapping[str, Mapping[str, float | None]]

    def best(self, variant: str) -> str | None:
        """Return the best setting of a variant; None where no run has finished."""
        sign = 1 if self.comparison.best == 'lowest' else -1
        found = {name: sign * mean for name, mean in self.means[variant].items() if mean is not None}
        return min(found, key=found.__getitem__, default=None)

    def chosen(self) -> dict[str, str]:
        """Return the best setting of each variant.

        Raises:
            UserError: no run of a variant has finished.
        """
        found = {variant: self.best(variant) for variant in self.means}
        for variant, setting in found.items():
            if setting is None:
                folder = self.comparison.study.folder
                raise UserError(f'{folder}: no run of {variant} has finished, so it cannot be tuned; see why it failed')
        return found

    def taken(self, study: Study) -> dict[str, str | None]:
        """Return the setting that each variant of a study has: that of a run which differs by its seed alone."""
        searched = {_seedless(trial.config): trial.variant for trial in self.comparison.study.trials if trial.config}
        found = dict.fromkeys(self.means)
        for trial in study.trials:
            name = searched.get(_seedless(trial.config), '')
            found[trial.variant] = name.removeprefix(f'{trial.variant},') or None
        return found

    def table(self, taken: Mapping[str, str | None]) -> list[list[str]]:
        """Names of the columns, and a row for each variant; the setting that was taken has a star."""
        settings = [*next(iter(self.means.values()))]
        rows = [
            [variant, *(f'{self._text(means[name])}{" *" * (name == taken[variant])}' for name in settings)]
            for variant, means in self.means.items()
        ]
        return [['variant', *settings], *rows]

    def _text(self, mean: float | None) -> str:
        spread = [mean for means in self.means.values() for mean in means.values() if mean is not None]
        return UNKNOWN if mean is None else fixed(mean, decimals([(max(spread) - min(spread)) / 20]))


def tuning(study: Study, variants: Sequence[str], question: Question) -> Tuning:
    """Read what a search gave: its variants are called after one that is tuned, and a setting.

    Raises:
        UserError: no run logs what is asked for.
    """
    comparison = compare(study, question)
    means = {standing.variant: standing.mean for standing in comparison.standings}
    found: dict[str, dict[str, float | None]] = {variant: {} for variant in variants}
    for name in dict.fromkeys(trial.variant for trial in study.trials):
        variant = max((each for each in variants if name.startswith(f'{each},')), key=len)
        found[variant][name.removeprefix(f'{variant},')] = means[name]
    return Tuning(comparison, found)


def tuning_of(comparison: Comparison) -> list[list[str]] | None:
    """The table of the search that was made before a sweep, by the sweep's metric; None where there was none."""
    folder = SweepFolder(comparison.study.folder).tuning.path
    if not sweep_file(folder).exists():
        return None
    variants = [*dict.fromkeys(trial.variant for trial in comparison.study.trials)]
    question = Question(comparison.metric, comparison.split, comparison.best)
    found = tuning(read_study(folder), variants, question)
    return found.table(found.taken(comparison.study))


def _seedless(config: Mapping[str, object]) -> str:
    return repr(sorted((name, repr(value)) for name, value in config.items() if name != 'seed'))
