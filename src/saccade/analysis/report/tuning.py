# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Result of a hyper-parameter search: the settings tried for each variant, their metrics, and the chosen one."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from jaxtyping import Num

from saccade.analysis.report.compare import Comparison, RankedVariant, StudyQuestion, compare
from saccade.analysis.report.runs import Study, Trial, read_study
from saccade.analysis.report.solved import SolvedRuns, solved_runs
from saccade.analysis.report.words import UNKNOWN, decimals, fixed, metric_name
from saccade.sweep.folder import SweepFolder
from saccade.sweep.record import Sweep, SweepRun, read_sweep
from saccade.train.config import PREFIX
from saccade.types import UserError

Places = Num[np.ndarray, 'variants']

_NO_PART = (f'{PREFIX}seed=', f'{PREFIX}steps=')  # flags that are not part of a setting


@dataclass(frozen=True)
class Tuning:
    """Search over settings, or one round of it.

    Attributes:
        comparison: comparison of its runs.
        means: for each variant, the mean of each setting, in the order tried; None for a setting with a failed,
            diverged or unfinished seed, which is never chosen.
    """

    comparison: Comparison
    means: Mapping[str, Mapping[str, float | None]]

    def best(self, variant: str) -> str | None:
        """Return the best setting of a variant; None if none has finished all its seeds."""
        return min(self._finished(variant), key=lambda name: self._order(variant, name), default=None)

    def _finished(self, variant: str) -> list[str]:
        return [name for name, mean in self.means[variant].items() if mean is not None]

    def _order(self, variant: str, setting: str) -> tuple[int | float, ...]:
        """Return a sort key, lower for better settings: the mean of the metric; of runs that end when they have solved
        their task, which all have about the same metric, first the number that did and then their mean steps.
        """
        sign, outcome = 1 if self.comparison.best == 'lowest' else -1, self.outcome(variant, setting)
        solved = (-len(outcome.steps), outcome.mean) if outcome else ()
        return *solved, sign * self.means[variant][setting]

    def outcome(self, variant: str, setting: str) -> SolvedRuns | None:
        """Return the outcomes of the runs of a setting; None if they have none."""
        return solved_runs(self.comparison, self.standing(variant, setting))

    def chosen(self) -> dict[str, str]:
        """Return the best setting of each variant.

        Raises:
            UserError: no setting of a variant has finished all its seeds; the message lists the unfinished runs.
        """
        found = {variant: self.best(variant) for variant in self.means}
        for variant, setting in found.items():
            if setting is None:
                lacking = '; '.join(text for name in self.means[variant] for text in self.lacking(variant, name))
                raise UserError(
                    f'{self.comparison.study.folder}: no setting of {variant} has finished all its seeds, so it cannot '
                    f'be tuned: {lacking}'
                )
        return found

    def lacking(self, variant: str, setting: str) -> list[str]:
        """Return the runs of a setting without a finite metric, with the reasons."""
        trials = self.standing(variant, setting).trials
        values = {trial.name: self.comparison.value(trial) for trial in trials}
        return [
            f'{setting}, seed {trial.seed}: {self._why(trial, values[trial.name])}'
            for trial in trials
            if values[trial.name] is None or not math.isfinite(values[trial.name])
        ]

    def standing(self, variant: str, setting: str) -> RankedVariant:
        """Return the result of a variant with a setting."""
        name = f'{variant},{setting}'
        return next(standing for standing in self.comparison.standings if standing.variant == name)

    def _why(self, trial: Trial, value: float | None) -> str:
        if value is not None:
            return f'diverged, its {metric_name(self.comparison.metric)} is {value}'
        ended = 'failed' if trial.failed else 'not finished'
        return ', '.join([f'{ended} at step {trial.step} of {trial.steps}', *trial.last_lines[-1:]])

    def kept(self, count: int) -> dict[str, list[str]]:
        """Return the best settings of each variant, at most `count`, in the order tried.

        Raises:
            UserError: as `chosen`.
        """
        self.chosen()
        found = {}
        for variant, means in self.means.items():
            best = sorted(self._finished(variant), key=lambda name, variant=variant: self._order(variant, name))[:count]
            found[variant] = [name for name in means if name in best]
        return found

    def at_edge(self, variant: str, setting: str) -> bool:
        """Return True if a setting has the lowest or the highest of the tried values of a field."""
        leaves = self._settings(variant)
        for path in leaves.get(setting, {}):
            given = {name: found.get(path) for name, found in leaves.items()}
            values = {name: value for name, value in given.items() if type(value) in (int, float)}  # True is no number
            lowest, highest = min(values.values(), default=0), max(values.values(), default=0)
            if path != ('seed',) and lowest < highest and values.get(setting) in (lowest, highest):
                return True
        return False

    def _settings(self, variant: str) -> dict[str, dict[tuple[str, ...], Any]]:
        """Return the fields of a config of each setting of a variant that has begun."""
        return {
            setting: _leaves(trial.config)
            for setting in self.means[variant]
            for trial in self.comparison.study.trials
            if trial.variant == f'{variant},{setting}' and trial.config
        }

    def own(self) -> str | None:
        """Return the config's own setting; None if it was not tried."""
        study = self.comparison.study
        leaves = self._settings(next(iter(self.means)))
        tried = {path for found in leaves.values() for path in found if path != ('seed',)}
        differing = {path for path in tried if len({found.get(path) for found in leaves.values()}) > 1}
        base = _leaves(study.base)
        alike = [name for name, found in leaves.items() if all(found.get(path) == base.get(path) for path in differing)]
        return alike[0] if len(leaves) > 1 and len(alike) == 1 else None

    def moved(self) -> dict[str, int]:
        """Return, by setting, the number of variants whose rank with this setting for all differs from the tuned rank.

        Both rankings use the search's runs. A setting that some variant has not finished is left out.
        """
        return {setting: int((alone != best).sum()) for setting, (alone, best) in self._rankings().items()}

    def reordered(self) -> dict[str, int]:
        """Return, by setting, the number of pairs of variants whose order differs, or is tied in one ranking only."""
        return {
            setting: sum(
                bool(np.sign(alone[i] - alone[j]) != np.sign(best[i] - best[j]))
                for i, j in combinations(range(len(best)), 2)
            )
            for setting, (alone, best) in self._rankings().items()
        }

    def _rankings(self) -> dict[str, tuple[Places, Places]]:
        """Return the places of all variants with one setting for all, and with the best setting of each."""
        best = {variant: self.best(variant) for variant in self.means}
        found = {}
        for setting in next(iter(self.means.values())):
            known = all(means.get(setting) is not None for means in self.means.values())
            if known and None not in best.values():
                found[setting] = self._places(dict.fromkeys(self.means, setting)), self._places(best)
        return found

    def _places(self, settings: Mapping[str, str]) -> Places:
        """Return the place of each variant with a setting; equal ones have the best of their places.

        Variants that solved the task in all runs are ranked by their steps, not by the metric at which they stopped.
        """
        keys = []
        for variant, setting in settings.items():
            outcome, key = self.outcome(variant, setting), self._order(variant, setting)
            keys.append(key[:-1] if outcome and len(outcome.steps) == outcome.runs else key)
        return np.array([1 + sum(other < key for other in keys) for key in keys])


@dataclass(frozen=True)
class TuningSearch:
    """Search before a sweep. Attributes: rounds, by their steps; without halving one round, with key None."""

    rounds: Mapping[int | None, Tuning]

    @property
    def first(self) -> Tuning:
        """Round in which all settings were trained."""
        return next(iter(self.rounds.values()))

    def taken(self, sweep: Sweep) -> dict[str, str | None]:
        """Return the setting of each variant of a sweep, from the overrides of its runs."""
        found = dict.fromkeys(self.first.means)
        for tuning in self.rounds.values():
            searched = read_sweep(tuning.comparison.study.folder)
            names = {_point(run): run.variant for run in searched.runs}
            for run in (each for each in sweep.runs if each.variant in found):
                name = names.get(_point(run), '')
                found[run.variant] = name.removeprefix(f'{run.variant},') or found[run.variant]
        return found

    def table(self, taken: Mapping[str, str | None]) -> list[list[str]]:
        """Return the names of the columns, and a row for each variant; the chosen setting has a star.

        With halving a figure comes from the last round of its setting, followed by the steps of that round.
        """
        settings = self._columns()
        rows = [
            [variant, *(f'{self._text(variant, name)}{" *" * (name == taken[variant])}' for name in settings)]
            for variant in self.first.means
        ]
        return [['variant', *settings], *rows]

    def at_edges(self, taken: Mapping[str, str | None]) -> str:
        """Return a sentence with the variants whose setting is at an edge of the tried values; empty without any."""
        found = [f'{variant} ({name})' for variant, name in taken.items() if name and self.first.at_edge(variant, name)]
        if not found:
            return ''
        return (
            f'The chosen setting is at an edge of the tried values, so a better one may be beyond: {", ".join(found)}.'
        )

    def _columns(self) -> list[str]:
        """Return the settings tried by any variant, in an order that agrees with the order of each variant."""
        found: list[str] = []
        for means in self.first.means.values():
            after = len(found)
            for name in reversed(means):
                if name in found:
                    after = found.index(name)
                else:
                    found.insert(after, name)
        return found

    def moved(self) -> str:
        """Return a sentence on the effect of tuning on the ranking; empty if it is unknown."""
        found, own, count = self.first.moved(), self.first.own(), len(self.first.means)
        if not found or count < 2 or len(next(iter(self.first.means.values()))) < 2:
            return ''
        steps = next(iter(self.rounds))
        where = 'the runs of the search' if steps is None else f'the first round of the search, {steps:,} steps'
        order = sorted(found, key=lambda setting: setting != own)
        each = ', '.join(
            f'{found[setting]} with {setting}{" (the config has it)" if setting == own else ""}' for setting in order
        )
        return (
            f'Effect of the search: number of the {count} variants in {where} whose rank with one setting for all '
            f'differs from their rank with the best setting of each: {each}.'
        )

    def _text(self, variant: str, setting: str) -> str:
        tried = [steps for steps, each in self.rounds.items() if setting in each.means[variant]]
        if not tried:
            return UNKNOWN
        last = tried[-1]
        mean, standing = self.rounds[last].means[variant][setting], self.rounds[last].standing(variant, setting)
        known = [mean for each in self.rounds.values() for means in each.means.values() for mean in means.values()]
        spread = [mean for mean in known if mean is not None]
        if mean is None:
            text = f'{UNKNOWN} ({len(standing.scores)} of {standing.wanted} seeds)'
        else:
            text = fixed(mean, decimals([(max(spread) - min(spread)) / 20]))
            if outcome := self.rounds[last].outcome(variant, setting):
                text += ' ({} solved, {} steps)'.format(*outcome.texts())
        return text if last is None else f'{text} ({last:,} steps)'


def tuning(study: Study, variants: Sequence[str], question: StudyQuestion) -> Tuning:
    """Read the results of a search, whose variants are named by the tuned variant and the setting.

    Raises:
        UserError: no run logs the metric.
    """
    owners = {trial.variant: _owner(trial.variant, variants) for trial in study.trials}
    study = replace(study, trials=tuple(trial for trial in study.trials if owners[trial.variant]))
    comparison = compare(study, question)
    means = {standing.variant: standing.mean for standing in comparison.standings if standing.complete}
    found: dict[str, dict[str, float | None]] = {variant: {} for variant in variants}
    for name, variant in owners.items():
        if variant:
            found[variant][name.removeprefix(f'{variant},')] = means.get(name)
    return Tuning(comparison, found)


def _owner(name: str, variants: Sequence[str]) -> str:
    """Return the variant that a run of the search belongs to; '' if it is not among these."""
    return max((each for each in variants if name.startswith(f'{each},')), key=len, default='')


def search_of(comparison: Comparison) -> TuningSearch | None:
    """Return the search before a sweep, by the sweep's metric; None without a search."""
    rounds = SweepFolder(comparison.study.folder).tuning.rungs
    if not rounds:
        return None
    variants = [*dict.fromkeys(trial.variant for trial in comparison.study.trials)]
    return read_search(rounds, variants, StudyQuestion(comparison.metric, comparison.split, comparison.best))


def read_search(rounds: Sequence[SweepFolder], variants: Sequence[str], question: StudyQuestion) -> TuningSearch:
    """Read the rounds of a search.

    Raises:
        UserError: no run logs the metric.
    """
    return TuningSearch({each.rung_steps: tuning(read_study(each.path), variants, question) for each in rounds})


def _point(run: SweepRun) -> frozenset[str]:
    """Return the setting of a run, without its seed and steps."""
    return frozenset(flag for flag in run.overrides if not flag.startswith(_NO_PART))


def _leaves(config: Any, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    if not isinstance(config, Mapping):
        return {path: config if isinstance(config, int | float) else repr(config)}
    return {leaf: text for name, value in config.items() for leaf, text in _leaves(value, (*path, name)).items()}
