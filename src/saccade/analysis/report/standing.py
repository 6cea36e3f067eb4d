# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Results page of a suite in Markdown: its matrix or its claims, the command that generates it, the omitted runs."""

import math
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import chain

from saccade.analysis.report.effects import effect_words
from saccade.analysis.report.lengths import LengthMean, lengths
from saccade.analysis.report.matrix import Matrix, effect_tables, overview_of
from saccade.analysis.report.origins import origins
from saccade.analysis.report.page import SOLVED, STOPPED, marked, table
from saccade.analysis.report.replications import Replication, claims_section
from saccade.analysis.report.solved import solved_runs
from saccade.analysis.report.tables import finished
from saccade.analysis.report.words import UNKNOWN, counted, fixed
from saccade.sweep.folder import SweepFolder
from saccade.sweep.naming import names
from saccade.sweep.plan import read_sweep_file
from saccade.sweep.record import Sweep, read_sweep
from saccade.sweep.space import points
from saccade.sweep.suite import Suite
from saccade.types import UserError

CONTROLLED = 0.8  # share of seeds by which a positive control must solve its task
CONTROL = (
    'A task is evidence only if its positive control is solved by at least four of five seeds; otherwise its data are '
    'listed, and show nothing about the mixers.'
)
METHOD = (
    'A cell is the mean over seeds with its 95% interval. Rows are in the order of the names; the page ranks nothing. '
    'State bytes are the size of the decoding state of a sequence.'
)


def standing_page(found: Matrix, suite: Suite, command: str, now: datetime, decided: Sequence[Replication] = ()) -> str:
    """Return the page.

    Args:
        found: the matrix.
        command: command that regenerates the page.
        now: time of the page.
        decided: the suite's claims, which are shown instead of the matrix.

    Raises:
        UserError: a positive control is not a variant of its sweep.
    """
    controlled = controls(found, suite)
    claims = [claims_section(decided)] if decided else []
    matrix = [
        table(found.rows()),
        METHOD,
        *(['## Positive controls', table(controlled), CONTROL] if controlled else []),
        *_solved(found),
        *_effects(found),
        *_longer(found),
        *_settings(found),
        *_searched(found),
    ]
    return (
        '\n\n'.join(
            [
                f'# {marked(suite.title)}',
                marked(overview_of(found, suite)),
                *map(marked, suite.notes),
                f'```shell\n{command}\n```',
                *_provenance(found),
                marked(f'{_work(found)} Made on {now:%d %B %Y}.'),
                *(claims or matrix),
                *_left_out(found),
            ]
        )
        + '\n'
    )


def _provenance(found: Matrix) -> list[str]:
    """Return the shared provenance of all runs, and the number of runs by value of each differing field."""
    ran = origins([trial for comparison in found.comparisons.values() for trial in comparison.study.trials])
    rows = [[*group.values, str(len(group.runs))] for group in ran.groups]
    return [*map(marked, ran.lines()), *([table([[*ran.columns, 'runs'], *rows])] if rows else [])]


def _sweeps(found: Matrix) -> Iterator[Sweep]:
    """Yield every sweep of the suite, including searches."""
    for comparison in found.comparisons.values():
        folder = SweepFolder(comparison.study.folder)
        for each in (folder, *folder.tuning.rungs):
            if (sweep := read_sweep(each.path)) is not None:
                yield sweep


def _work(found: Matrix) -> str:
    """Return a sentence with the number of runs and their total time."""
    runs = [run for sweep in _sweeps(found) for run in sweep.runs if run.status == 'finished']
    hours = sum(run.seconds or 0.0 for run in runs) / 3600
    return f'{counted(len(runs), "run")}, including searches, took {hours:.1f} hours of one process.'


def controls(found: Matrix, suite: Suite) -> list[list[str]]:
    """Return the outcomes of the positive controls, below the names of the columns; empty without a control.

    Raises:
        UserError: a control is not a variant of its sweep.
    """
    rows = []
    for task in suite.tasks:
        comparison = found.comparisons.get(task.name)
        if comparison is None or task.control is None:
            continue
        variants = {row.variant: row for row in comparison.standings}
        if task.control not in variants:
            raise UserError(f'{task.name}: the control is {task.control}, but the sweep has {", ".join(variants)}')
        runs, seeds = solved_runs(comparison, variants[task.control]), {trial.seed for trial in comparison.study.trials}
        solved, ran = (len(runs.steps), runs.runs) if runs else (0, 0)
        enough, waiting = solved >= CONTROLLED * len(seeds), len(seeds) - ran
        evidence = 'yes' if enough else 'not yet' if waiting else 'no'
        said = f'{solved} of {ran}, {waiting} to run' if waiting else f'{solved} of {ran}'
        rows.append([task.name, task.control, said, evidence])
    return [['task', 'control', 'seeds solved', 'evidence'], *rows] if rows else []


def _solved(found: Matrix) -> list[str]:
    """Return, by variant and task, the number of seeds that solved it and the median of their steps."""
    return _by_variant(found, '## Seeds solved, and median steps to solve', _solved_text, f'{SOLVED} {STOPPED}')


def _solved_text(found: Matrix, variant: str, task: str) -> str:
    row = found.cells[variant].get(task)
    runs = row and solved_runs(found.comparisons[task], row)
    return '; '.join(runs.texts()) if runs else UNKNOWN


def _settings(found: Matrix) -> list[str]:
    """Return the setting that the search chose, by variant and task."""

    def text(found: Matrix, variant: str, task: str) -> str | None:
        return found.settings.get(task, {}).get(variant)

    return [*_by_variant(found, '## Chosen settings', text), *map(marked, found.at_edges)]


def _by_variant(
    found: Matrix, title: str, text: Callable[[Matrix, str, str], str | None], said: str | None = None
) -> list[str]:
    """Return a section with a table of variants and tasks; none if no cell has a text."""
    rows = [
        [variant, *(text(found, variant, task) or UNKNOWN for task in found.comparisons)] for variant in found.cells
    ]
    if all(cell == UNKNOWN for _, *cells in rows for cell in cells):
        return []
    return [title, table([['variant', *found.comparisons], *rows]), *([said] if said else [])]


def _effects(found: Matrix) -> list[str]:
    """Return the main effects and interactions of the factors, by task."""
    sections = [(f'### {marked(task)}', table(rows)) for task, rows in effect_tables(found).items()]
    return ['## Effects of the factors', effect_words([*found.effects.values()]), *chain(*sections)] if sections else []


def _longer(found: Matrix) -> list[str]:
    """Return the means at lengths not in training, for the tasks that have any."""
    measured = {task: lengths(comparison) for task, comparison in found.comparisons.items()}
    known = {task: each for task, each in measured.items() if each is not None}
    if not known:
        return []
    heads = [f'{task}, {tokens} tokens' for task, each in known.items() for tokens in each.lengths]
    texts = {
        (task, standing.variant): [_with_range(cell) if cell else UNKNOWN for cell in cells]
        for task, each in known.items()
        for standing, cells in each.rows
    }
    rows = [
        [variant, *chain(*(texts.get((task, variant), [UNKNOWN] * len(each.lengths)) for task, each in known.items()))]
        for variant in found.cells
        if any((task, variant) in texts for task in known)
    ]
    said = (
        'Means over seeds, with the lowest and the highest seed: where some seeds solve a task and others do not, no '
        'seed is near the mean. The first length of each task is the training length.'
    )
    return ['## Sequences longer than in training', said, table([['variant', *heads], *rows])]


def _with_range(cell: LengthMean) -> str:
    low, high = (fixed(value, 2) for value in (cell.lowest, cell.highest))
    return f'{fixed(cell.mean, 2)}{"" if low == high else f" ({low} to {high})"}{cell.seeds}'


def _searched(found: Matrix) -> list[str]:
    """Return, for each tuned task, the number of pairs of variants that change order with one setting for all."""
    first = {task: search.first for task, search in found.searches.items()}
    reordered = {task: each.reordered() for task, each in first.items()}
    settings = [*dict.fromkeys(chain(*reordered.values()))]
    if not settings:
        return []
    rows = [
        [task, str(math.comb(len(first[task].means), 2)), *(str(each.get(setting, UNKNOWN)) for setting in settings)]
        for task, each in reordered.items()
    ]
    said = (
        'The setting of each variant was searched first, on other seeds. Number of pairs of variants in these runs '
        'whose order with one setting for all differs from the order with the best setting of each:'
    )
    return ['## Effect of the search', said, table([['task', 'pairs', *settings], *rows])]


def _left_out(found: Matrix) -> list[str]:
    """Return the variants that lack finished runs, with the steps and seeds of the sweeps."""
    said: dict[str, list[str]] = {}
    for task, comparison in found.comparisons.items():
        study = comparison.study
        _, spec = read_sweep_file(study.source)
        cells = {name: found.cells.get(name, {}).get(task) for name in names(points(spec['runs']))}
        without = [name for name, row in cells.items() if row is None]
        partial = [f'{name} ({finished(row)} seeds)' for name, row in cells.items() if row and not row.complete]
        lacking = [
            f'{word} {", ".join(each)}' for word, each in (('without', without), ('incomplete:', partial)) if each
        ]
        seeds = counted(len({trial.seed for trial in study.trials}), 'seed')
        steps = {trial.steps for trial in study.trials}
        length = ' to '.join(f'{count:,}' for count in sorted({min(steps), max(steps)}))
        text = '; '.join([f'{length} steps, {seeds}', *(lacking or ['all variants are complete'])])
        said.setdefault(text, []).append(task)
    return ['## Runs left out', *(f'- {marked(", ".join(tasks))}: {marked(text)}.' for text, tasks in said.items())]
