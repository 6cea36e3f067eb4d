# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Matrix of several sweeps over the same variants: a row for each variant, a column for each sweep's task.

    share = (mean - chance) / (best - chance), between 0 and 1

`best` is the maximum of a metric where higher is better, such as 1 for an accuracy, and the best mean over
variants for other metrics; `chance` is the sweep's baseline. Tasks with different chance levels thus have one scale,
which colours the cells. Rows are in the order of the names: a mean over tasks would rank variants by the choice of
tasks.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from saccade.analysis.report.compare import Comparison, RankedVariant, StudyQuestion, compare
from saccade.analysis.report.critical import Critical, over_tasks
from saccade.analysis.report.effects import Effects, effects, levels_of
from saccade.analysis.report.margin import margin_test
from saccade.analysis.report.runs import NothingLoggedError, left_out_words, read_study, runs_in
from saccade.analysis.report.solved import solved_runs
from saccade.analysis.report.tables import places, seeds, with_interval
from saccade.analysis.report.tuning import TuningSearch, search_of
from saccade.analysis.report.words import UNKNOWN, amount, counted, fixed
from saccade.sweep.folder import SIZING, TUNING
from saccade.sweep.record import read_sweep, sweep_file
from saccade.sweep.suite import Suite
from saccade.train.workdir import absolute
from saccade.types import UserError

FIRST = 'accuracy'  # default metric of a sweep that declares none


@dataclass(frozen=True)
class Matrix:
    """Matrix of variants and tasks.

    Attributes: folder of the sweeps; comparisons, by folder name of the sweep; left_out, runs next to the sweeps;
        waiting, folder names of the sweeps without an evaluation.
    """

    folder: Path
    comparisons: Mapping[str, Comparison]
    left_out: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()

    @cached_property
    def cells(self) -> Mapping[str, Mapping[str, RankedVariant]]:
        """Result of each variant in each task in which it has finished a run, in the order of the names."""
        found: dict[str, dict[str, RankedVariant]] = {}
        for task, comparison in self.comparisons.items():
            for standing in comparison.ranked:
                found.setdefault(standing.variant, {})[task] = standing
        return dict(sorted(found.items()))

    def share(self, task: str, standing: RankedVariant) -> float | None:
        """Return the score of a variant scaled from chance (0) to the best (1); None if chance is unknown."""
        comparison = self.comparisons[task]
        bounded = comparison.best == 'highest' and comparison.declared.high is not None
        best = comparison.declared.high if bounded else comparison.ranked[0].mean
        if comparison.baseline is None or best == comparison.baseline:
            return None
        if (best > comparison.baseline) != (comparison.best == 'highest'):
            return 0.0  # even the best variant is worse than chance
        return min(max((standing.mean - comparison.baseline) / (best - comparison.baseline), 0.0), 1.0)

    @cached_property
    def levels(self) -> Mapping[str, Mapping[str, str]]:
        """Level of each variant in each factor that all sweeps cross; empty without factors."""
        factors = {comparison.study.factors for comparison in self.comparisons.values()}
        names = factors.pop() if len(factors) == 1 else ()
        return {
            factor: {variant: levels_of(variant)[place] for variant in self.cells} for place, factor in enumerate(names)
        }

    @cached_property
    def searches(self) -> Mapping[str, TuningSearch]:
        """Search before each sweep, by task; tasks without a search are absent."""
        searches = {task: search_of(comparison) for task, comparison in self.comparisons.items()}
        return {task: search for task, search in searches.items() if search}

    @cached_property
    def settings(self) -> Mapping[str, Mapping[str, str | None]]:
        """Setting of each variant that the search before a sweep chose, by task."""
        return {
            task: search.taken(read_sweep(self.comparisons[task].study.folder))
            for task, search in self.searches.items()
        }

    @cached_property
    def at_edges(self) -> tuple[str, ...]:
        """A sentence for each task whose chosen settings are at an edge of the tried values."""
        said = ((task, search.at_edges(self.settings[task])) for task, search in self.searches.items())
        return tuple(f'{task}: {text}' for task, text in said if text)

    def state_bytes(self, variant: str) -> int | float | None:
        """Return the maximum size of the decoding state over tasks; None if no run logged it."""
        found = [standing.cost.state_bytes for standing in self.cells[variant].values()]
        return max((size for size in found if size is not None), default=None)

    @property
    def states(self) -> list[int | float]:
        """Every known size of a decoding state, from the smallest."""
        sizes = {self.state_bytes(variant) for variant in self.cells}
        return sorted(size for size in sizes if size is not None)

    def text(self, variant: str, task: str) -> str:
        """Return a cell as text: mean, interval if there is one, and number of seeds if some are missing."""
        standing = self.cells[variant].get(task)
        if standing is None:
            return UNKNOWN
        mean = with_interval(standing.mean, standing.interval, max(places(self.comparisons[task]), 2))
        return mean if standing.complete else f'{mean} ({seeds(standing)})'

    def rows(self) -> list[list[str]]:
        """Return the matrix as text: names of columns, chance, and a row for each variant."""
        chances = [fixed(comparison.baseline, 3) for comparison in self.comparisons.values()]
        rows = [
            [
                variant,
                *(self.text(variant, task) for task in self.comparisons),
                amount(self.state_bytes(variant)),
            ]
            for variant in self.cells
        ]
        return [['variant', *self.comparisons, 'state bytes'], ['chance', *chances, ''], *rows]

    @cached_property
    def places(self) -> Mapping[str, int]:
        """Number of each variant's row, from 1."""
        return {variant: place for place, variant in enumerate(self.cells, start=1)}

    @cached_property
    def critical(self) -> Critical:
        """Significant differences over the tasks."""
        signs = {task: 1 if each.best == 'highest' else -1 for task, each in self.comparisons.items()}
        scores = {
            variant: {task: signs[task] * standing.mean for task, standing in standings.items() if standing.complete}
            for variant, standings in self.cells.items()
        }
        return over_tasks(scores)

    @cached_property
    def effects(self) -> Mapping[str, Effects]:
        """Effects of the factors, by task; tasks without factors are absent."""
        measured = {task: effects(comparison) for task, comparison in self.comparisons.items()}
        return {task: each for task, each in measured.items() if each}

    def records(self) -> list[dict[str, str | float | int | None]]:
        """Return every cell with full precision.

        The verdict is on the difference to the baseline, or with two factors to the first level of the first of them.
        """
        crossed = {task: each for task, each in self.effects.items() if len(each.factors) == 2}
        tests = {task: crossed.get(task) or margin_test(each) for task, each in self.comparisons.items()}
        return [
            {
                'variant': variant,
                'task': task,
                'mean': standing.mean,
                'low': standing.interval and standing.interval.low,
                'high': standing.interval and standing.interval.high,
                'chance': self.comparisons[task].baseline,
                'share': self.share(task, standing),
                'verdict': tests[task] and (difference := tests[task].of(variant)) and difference.verdict,
                'seeds_solved': (runs := solved_runs(self.comparisons[task], standing)) and len(runs.steps),
                'median_steps_to_solve': runs and runs.median,
                'seeds': len(standing.scores),
                'complete': standing.complete,
            }
            for variant, standings in self.cells.items()
            for task, standing in standings.items()
        ]


def effect_tables(found: Matrix) -> dict[str, list[list[str]]]:
    """Return the effects of the factors as text, by task; tasks without factors are absent."""
    return {task: each.table(places(found.comparisons[task])) for task, each in found.effects.items()}


def sweeps_in(workdir: str | Path) -> list[Path]:
    """Return the subfolders that are sweeps, by name; none for a folder that is itself a sweep."""
    folder = absolute(workdir)
    if not folder.is_dir() or sweep_file(folder).exists():
        return []
    own = (TUNING, SIZING)  # of a sweep whose search has not ended
    return sorted(path for path in folder.iterdir() if path.name not in own and sweep_file(path).exists())


def matrix(workdir: str | Path, question: StudyQuestion) -> Matrix:
    """Compare the runs of each sweep of a folder.

    Args:
        question: metric and split; the default metric is the sweep's own, or accuracy.

    Raises:
        UserError: no sweep has an evaluation yet, or the runs of one do not log the metric.
    """
    comparisons, waiting = {}, {}
    for folder in sweeps_in(workdir):
        try:
            comparisons[folder.name] = _compared(folder, question)
        except NothingLoggedError as nothing:
            waiting[folder.name] = nothing
    if waiting and not comparisons:
        raise next(iter(waiting.values()))
    return Matrix(absolute(workdir), comparisons, tuple(runs_in(absolute(workdir))), tuple(waiting))


def _compared(folder: Path, question: StudyQuestion) -> Comparison:
    try:
        study = read_study(folder)
        metric = question.metric or study.primary.metric or FIRST
        return compare(study, replace(question, metric=metric))
    except UserError as error:
        raise type(error)(f'{folder.name}: {error}') from None


def overview(found: Matrix) -> str:
    """Summarise the matrix: its size, the sweeps that are not evaluated yet, and the runs left out."""
    tasks, variants = len(found.comparisons), len(found.cells)
    waiting = f' Not evaluated yet: {", ".join(found.waiting)}.' if found.waiting else ''
    others = f'{waiting} {left_out_words(found.left_out)}'.rstrip()
    sweeps = counted(tasks, 'sweep')
    size = f'{counted(variants, "variant")} in {sweeps}.' if variants else f'{sweeps} without a finished run.'
    return f'{size}{others}'


def overview_of(found: Matrix, suite: Suite) -> str:
    """Summarise the matrix of a suite, with the tasks that have no result."""
    names = [task.name for task in suite.tasks if task.name not in (*found.comparisons, *found.waiting)]
    return f'{overview(found)} Without a result yet: {", ".join(names)}.' if names else overview(found)
