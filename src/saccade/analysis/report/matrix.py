# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Matrix of several sweeps over the same variants: a row for each variant, a column for each sweep's task.

    share = (mean - chance) / (best - chance), between 0 and 1

`best` is the greatest value of a metric that is best where it is highest, as 1 of an accuracy, and the best mean of all
variants for other metrics; `chance` is the sweep's baseline. So tasks whose chances differ have one scale, by which
cells are coloured and variants ordered, those that lack seeds or tasks after the others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from saccade.analysis.report.compare import Comparison, Question, Standing, compare
from saccade.analysis.report.critical import Critical, over_tasks
from saccade.analysis.report.runs import left_out_words, read_study, runs_in
from saccade.analysis.report.tables import places, seeds, with_interval
from saccade.analysis.report.words import UNKNOWN, amount, fixed
from saccade.sweep.record import sweep_file
from saccade.train.workdir import absolute
from saccade.types import UserError

FIRST = 'accuracy'  # the metric, where all sweeps have it and none is asked for


@dataclass(frozen=True)
class Matrix:
    """Matrix of variants and tasks.

    Attributes: folder of the sweeps; comparisons, of each by its folder's name; left_out, runs next to the sweeps.
    """

    folder: Path
    comparisons: Mapping[str, Comparison]
    left_out: tuple[str, ...] = ()

    @cached_property
    def cells(self) -> Mapping[str, Mapping[str, Standing]]:
        """The standing of each variant in each task in which it has finished a run, in the order of the variants."""
        found: dict[str, dict[str, Standing]] = {}
        for task, comparison in self.comparisons.items():
            for standing in comparison.ranked:
                found.setdefault(standing.variant, {})[task] = standing
        order = sorted(found, key=lambda each: (not self._complete(found[each]), -self._mean(found[each])))
        return {variant: found[variant] for variant in order}

    def share(self, task: str, standing: Standing) -> float | None:
        """How far a variant is from chance to the best, from 0 to 1; None where chance is not known."""
        comparison = self.comparisons[task]
        bounded = comparison.best == 'highest' and comparison.declared.high is not None
        best = comparison.declared.high if bounded else comparison.ranked[0].mean
        if comparison.baseline is None or best == comparison.baseline:
            return None
        return min(max((standing.mean - comparison.baseline) / (best - comparison.baseline), 0.0), 1.0)

    def mean_share(self, variant: str) -> float | None:
        """The mean of a variant's shares, where it is complete and has one in every task."""
        if not self._complete(self.cells[variant]):
            return None
        found = [self.share(task, standing) for task, standing in self.cells[variant].items()]
        return None if None in found else sum(found) / len(found)

    def state_bytes(self, variant: str) -> int | float | None:
        """The most that a row leaves to decode with in any task; None where no run logged it."""
        found = [standing.cost.state_bytes for standing in self.cells[variant].values()]
        return max((size for size in found if size is not None), default=None)

    def text(self, variant: str, task: str) -> str:
        """A cell in words: the mean, its interval where there is one, and how many seeds it is of where some lack."""
        standing = self.cells[variant].get(task)
        if standing is None:
            return UNKNOWN
        mean = with_interval(standing.mean, standing.interval, max(places(self.comparisons[task]), 2))
        return mean if standing.complete else f'{mean} ({seeds(standing)})'

    def rows(self) -> list[list[str]]:
        """The matrix in words: names of columns, chance, and a row for each variant."""
        chances = [fixed(comparison.baseline, 3) for comparison in self.comparisons.values()]
        rows = [
            [
                variant,
                *(self.text(variant, task) for task in self.comparisons),
                fixed(self.mean_share(variant), 2),
                amount(self.state_bytes(variant)),
            ]
            for variant in self.cells
        ]
        return [['variant', *self.comparisons, 'mean share', 'state bytes'], ['chance', *chances, '', ''], *rows]

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The number of each variant's row, from 1."""
        return {variant: place for place, variant in enumerate(self.cells, start=1)}

    @cached_property
    def critical(self) -> Critical:
        """Which differences are real, over the tasks."""
        signs = {task: 1 if each.best == 'highest' else -1 for task, each in self.comparisons.items()}
        scores = {
            variant: {task: signs[task] * standing.mean for task, standing in standings.items() if standing.complete}
            for variant, standings in self.cells.items()
        }
        return over_tasks(scores)

    def records(self) -> list[dict[str, str | float | int | None]]:
        """Every cell with every digit."""
        return [
            {
                'variant': variant,
                'task': task,
                'mean': standing.mean,
                'low': standing.interval and standing.interval.low,
                'high': standing.interval and standing.interval.high,
                'chance': self.comparisons[task].baseline,
                'share': self.share(task, standing),
                'seeds': len(standing.scores),
                'complete': standing.complete,
            }
            for variant, standings in self.cells.items()
            for task, standing in standings.items()
        ]

    def _complete(self, standings: Mapping[str, Standing]) -> bool:
        """Whether a variant has finished all seeds of every task."""
        return len(standings) == len(self.comparisons) and all(each.complete for each in standings.values())

    def _mean(self, standings: Mapping[str, Standing]) -> float:
        return sum(self.share(task, standing) or 0.0 for task, standing in standings.items())


def sweeps_in(workdir: str | Path) -> list[Path]:
    """The folders of sweeps directly below a folder, by name; none for a folder that is a sweep itself."""
    folder = absolute(workdir)
    if not folder.is_dir() or sweep_file(folder).exists():
        return []
    return sorted(path for path in folder.iterdir() if sweep_file(path).exists())


def matrix(workdir: str | Path, question: Question) -> Matrix:
    """Compare the runs of each sweep of a folder.

    Args:
        question: by what; accuracy unless a metric is asked for.

    Raises:
        UserError: a sweep has no runs yet, or none logs the metric.
    """
    folders = sweeps_in(workdir)
    asked = question if question.metric else replace(question, metric=FIRST)
    comparisons = {folder.name: _compared(folder, asked) for folder in folders}
    return Matrix(absolute(workdir), comparisons, tuple(runs_in(absolute(workdir))))


def _compared(folder: Path, question: Question) -> Comparison:
    try:
        return compare(read_study(folder), question)
    except UserError as error:
        raise UserError(f'{folder.name}: {error}') from None


def overview(found: Matrix) -> str:
    """How much there is, which variant is nearest to the best in the most tasks, and which runs are left out."""
    tasks, variants = len(found.comparisons), len(found.cells)
    others = f' {left_out_words(found.left_out)}'.rstrip()
    if not variants:
        return f'{tasks} sweeps, of which no run has finished.{others}'
    lead = _first(found, [*found.cells])
    return f'{variants} variants in {tasks} sweeps. {lead}{others}'


def _first(found: Matrix, variants: Sequence[str]) -> str:
    wins = {
        variant: sum(comparison.ranked[0].variant == variant for comparison in found.comparisons.values())
        for variant in variants
    }
    most = max(wins.values())
    first = ', '.join(variant for variant, count in wins.items() if count == most)
    return f'The best mean of most tasks ({most} of {len(found.comparisons)}) is that of {first}.'
