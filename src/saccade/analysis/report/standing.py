# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Results page of a suite in Markdown: its matrix or its claims, the command that generates it, the omitted runs."""

import math
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import chain

from saccade.analysis.report.lengths import lengths
from saccade.analysis.report.matrix import Matrix, overview
from saccade.analysis.report.origins import origins
from saccade.analysis.report.page import marked, table
from saccade.analysis.report.replications import Replication, claims_section
from saccade.analysis.report.tuning import search_of
from saccade.analysis.report.words import UNKNOWN, counted, fixed
from saccade.sweep.folder import SweepFolder
from saccade.sweep.plan import read_sweep_file
from saccade.sweep.record import Sweep, read_sweep
from saccade.sweep.space import NAME, points

METHOD = (
    'A cell is the mean over seeds with its 95% interval. Rows are in the order of the names; the page ranks nothing. '
    'State bytes are the size of the decoding state of a sequence.'
)


def standing_page(found: Matrix, title: str, command: str, now: datetime, decided: Sequence[Replication] = ()) -> str:
    """Return the page.

    Args:
        found: the matrix.
        title: title of the suite.
        command: command that regenerates the page.
        now: time of the page.
        decided: the suite's claims, which are shown instead of the matrix.
    """
    claims = [claims_section(decided)] if decided else []
    matrix = [table(found.rows()), METHOD, *_longer(found), *_searched(found)]
    return (
        '\n\n'.join(
            [
                f'# {marked(title)}',
                marked(overview(found)),
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


def _longer(found: Matrix) -> list[str]:
    """Return the means at lengths not in training, for the tasks that have any."""
    measured = {task: lengths(comparison) for task, comparison in found.comparisons.items()}
    known = {task: each for task, each in measured.items() if each is not None}
    if not known:
        return []
    heads = [f'{task}, {tokens} tokens' for task, each in known.items() for tokens in each.lengths]
    texts = {
        (task, standing.variant): [f'{fixed(cell.mean, 2)}{cell.seeds}' if cell else UNKNOWN for cell in cells]
        for task, each in known.items()
        for standing, cells in each.rows
    }
    rows = [
        [variant, *chain(*(texts.get((task, variant), [UNKNOWN] * len(each.lengths)) for task, each in known.items()))]
        for variant in found.cells
        if any((task, variant) in texts for task in known)
    ]
    said = 'Means over seeds. The first length of each task is the training length.'
    return ['## Rows longer than in training', said, table([['variant', *heads], *rows])]


def _searched(found: Matrix) -> list[str]:
    """Return, for each tuned task, the number of pairs of variants that change order with one setting for all."""
    searches = {task: search_of(comparison) for task, comparison in found.comparisons.items()}
    first = {task: search.first for task, search in searches.items() if search is not None}
    reordered = {task: each.reordered() for task, each in first.items()}
    settings = [*dict.fromkeys(chain(*reordered.values()))]
    if not settings:
        return []
    rows = [
        [task, str(math.comb(len(first[task].means), 2)), *(str(each.get(setting, UNKNOWN)) for setting in settings)]
        for task, each in reordered.items()
    ]
    said = (
        'The setting of each variant was searched first, on a separate seed. Number of pairs of variants in these runs '
        'whose order with one setting for all differs from the order with the best setting of each:'
    )
    return ['## Effect of the search', said, table([['task', 'pairs', *settings], *rows])]


def _left_out(found: Matrix) -> list[str]:
    """Return the listed variants without a finished run, with the steps and seeds of the sweeps."""
    said: dict[str, list[str]] = {}
    for task, comparison in found.comparisons.items():
        study = comparison.study
        _, spec = read_sweep_file(study.source)
        left = [point[NAME] for point in points(spec['runs']) if task not in found.cells.get(point.get(NAME), {})]
        seeds = counted(len({trial.seed for trial in study.trials}), 'seed')
        steps = {trial.steps for trial in study.trials}
        length = ' to '.join(f'{count:,}' for count in sorted({min(steps), max(steps)}))
        text = f'{length} steps, {seeds}; without {", ".join(left) or "none"}'
        said.setdefault(text, []).append(task)
    return ['## Left out', *(f'- {marked(", ".join(tasks))}: {marked(text)}.' for text, tasks in said.items())]
