# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What people see of a sweep: a table that fits the terminal, plain lines elsewhere."""

import io
import json
from dataclasses import replace

import pytest
from pretended import sweep_of
from rich.console import Console

from saccade.sweep import board
from saccade.sweep.board import Board, Lines, display, ending, shown, summary
from saccade.sweep.folder import SweepFolder


@pytest.fixture
def folder(tmp_path):
    return SweepFolder.of(tmp_path)


def console_of(terminal=True, height=12, width=100):
    return Console(file=io.StringIO(), force_terminal=terminal, width=width, height=height, _environ={})


def log(folder, run, **record):
    folder.run(run).mkdir(exist_ok=True)
    with (folder.run(run) / 'metrics.jsonl').open('a') as file:
        file.write(json.dumps(record) + '\n')


def with_statuses(*statuses, **changes):
    sweep = sweep_of(*statuses, steps=2000)
    for run, status in zip(sweep.runs, statuses, strict=True):
        sweep = sweep.changed(run.name, status=status, **changes)
    return sweep


def drawn(folder, sweep, began=(), **size):
    """The lines of the board when it was drawn last, as words."""
    console = console_of(terminal=False, **size)
    with Board(console, folder) as board:
        for run in began:
            board.changed(run)
        board.refresh(sweep)
    return [line.split() for line in console.file.getvalue().splitlines()]


def test_a_terminal_gets_a_board_and_a_file_gets_lines(folder):
    assert isinstance(display(console_of(terminal=True), folder), Board)
    assert isinstance(display(console_of(terminal=False), folder), Lines)


def test_a_row_says_how_far_a_run_has_come(folder):
    sweep = with_statuses('running', 'failed', 'finished', 'waiting').changed('c', seconds=90.0)
    a, b, c, d = sweep.runs
    log(folder, a, step=1500, split='train', loss=3.14159, tokens_per_second=12345.6)
    log(folder, b, step=7, split='train', loss='NaN', tokens_per_second=1.0)
    log(folder, c, step=2000, split='train', loss=0.6, tokens_per_second=9876.5)
    log(folder, c, step=2000, split='validation', loss=0.5)
    log(folder, d, step=9, split='train', loss=1.0)
    assert drawn(folder, sweep, began=[a]) == [
        ['run', 'status', 'step', 'loss', 'tokens/s', 'minutes'],
        ['a', 'running', '1,500/2,000', '3.1416', '12,346', '0.0'],
        ['b', 'failed', '7/2,000', 'nan', '1'],
        ['c', 'finished', '2,000/2,000', '0.5000', '9,876', '1.5'],
        ['d', 'waiting', '0/2,000'],
        ['1', 'running,', '1', 'finished,', '1', 'failed,', '1', 'waiting,', 'about', '2', 'minutes', 'left'],
    ]


def test_runs_without_metrics_or_with_a_plan_alone_have_a_row(folder):
    sweep = with_statuses('running', 'running', 'failed')
    log(folder, sweep.runs[1], step=0, split='plan', parameters=10)
    assert [row[2] for row in drawn(folder, sweep)[1:-1]] == 3 * ['0/2,000']


def test_the_time_left_is_that_of_all_steps_at_the_pace_of_what_has_ended(folder, monkeypatch):
    """500 steps of a and b, and 2,000 of each that waits, two at a time: 5,000 at 6 minutes for 2,000."""
    sweep = with_statuses('running', 'running', 'finished', 'waiting', 'waiting', 'failed').changed('c', seconds=360.0)
    for run in sweep.runs[:2]:
        log(folder, run, step=1500, split='train', loss=1.0)
    assert ' '.join(drawn(folder, sweep)[-1]).endswith('2 waiting, about 8 minutes left')
    clock = iter([0.0, 0.0])
    monkeypatch.setattr(board.time, 'monotonic', lambda: next(clock, 600.0))
    sweep = sweep.changed('c', status='waiting', seconds=None)  # none has ended: 10 minutes took 1,500 steps
    assert ' '.join(drawn(folder, sweep, began=sweep.runs[:2])[-1]).endswith('3 waiting, about 23 minutes left')


def test_nothing_is_said_of_the_time_left_before_a_pace_is_known_or_when_all_is_over(folder):
    for statuses in (('running', 'waiting'), ('finished', 'failed')):
        assert 'left' not in drawn(folder, with_statuses(*statuses))[-1]


def test_a_name_that_looks_like_markup_is_shown_as_it_is(folder):
    sweep = with_statuses('waiting')
    sweep = replace(sweep, runs=(replace(sweep.runs[0], name='[bold]x[/]'),))
    assert drawn(folder, sweep)[1][0] == '[bold]x[/]'


@pytest.mark.parametrize(('height', 'rows'), [(3, 1), (5, 2), (8, 5), (11, 8), (30, 8)])
def test_the_board_is_no_higher_than_the_terminal(folder, height, rows):
    lines = drawn(folder, with_statuses(*(8 * ['waiting'])), height=height)
    assert len(lines) == rows + 2
    assert lines[-1] == ['8', 'waiting']


@pytest.mark.parametrize('height', [6, 7, 12])
def test_a_name_too_long_for_the_terminal_is_shown_whole_and_fewer_of_them(folder, height):
    sweep = with_statuses(*(8 * ['waiting']))
    long = 'schedule=WarmupStableDecay,peak=0.003,seed='
    sweep = replace(sweep, runs=tuple(replace(run, name=long + run.name) for run in sweep.runs))
    lines = drawn(folder, sweep, width=60, height=height)
    names = ''.join(line[0] for line in lines[1:-1])
    assert names == ''.join(f'{long}{letter}' for letter in 'abcdefgh'[: (height - 3) // 3])
    assert lines[-1] == ['8', 'waiting']


@pytest.mark.parametrize('width', [1, 10, 20, 40])
def test_no_terminal_is_too_narrow(folder, width):
    assert drawn(folder, with_statuses('running', 'waiting'), width=width)


def test_the_board_draws_itself_and_gives_the_terminal_back(folder):
    sweep, console = with_statuses('waiting', 'finished'), console_of()
    with Board(console, folder) as board:
        board.say('[bold]before[/]')
        board.refresh(sweep)
    text = console.file.getvalue()
    assert '[bold]before[/]' in text
    assert '1 finished, 1 waiting' in text
    assert text.endswith('\x1b[?25h')


@pytest.mark.parametrize(
    ('rows', 'names'),
    [(8, 'abcdefgh'), (5, 'abceg'), (4, 'aceg'), (3, 'ceg'), (2, 'eg'), (1, 'e'), (0, 'e'), (-3, 'e')],
)
def test_the_rows_that_fit_are_those_at_work_then_the_failed_then_the_next(rows, names):
    """Shown in the sweep's order: e and g run, c has failed, a and b wait, the others have finished."""
    sweep = with_statuses('waiting', 'waiting', 'failed', 'finished', 'running', 'finished', 'running', 'finished')
    assert ''.join(run.name for run in shown(sweep.runs, rows)) == names


def test_elsewhere_each_change_is_a_line(folder):
    console = console_of(terminal=False)
    running, failed, silent, finished, waiting = with_statuses(
        'running', 'failed', 'failed', 'finished', 'waiting', exit=3
    ).runs
    log(folder, finished, step=2000, split='validation', loss=0.54321)
    with Lines(console, folder) as lines:
        lines.say('[bold]before[/]')
        for run in (running, replace(failed, last_lines=('one', '[/] two')), silent, finished, waiting):
            lines.changed(run)
        lines.refresh(with_statuses('running'))
    first, *rest, last = console.file.getvalue().splitlines()
    assert (first, last) == ('[bold]before[/]', '1 running')
    assert [line[10:].rstrip() for line in rest] == [
        'running   a',
        'failed    b (exit 3): [/] two',
        'failed    c (exit 3):',
        'finished  d: loss 0.5432',
        'waiting   e',
    ]
    assert '\x1b' not in console.file.getvalue()


def test_a_long_line_is_not_broken_where_no_terminal_is(folder):
    console = console_of(terminal=False, width=20)
    Lines(console, folder).say('word ' * 20)
    assert console.file.getvalue().count('\n') == 1


def test_the_summary_counts_the_runs_in_each_state():
    assert summary(with_statuses('waiting', 'failed', 'finished', 'waiting', 'running')) == (
        '1 running, 1 finished, 1 failed, 2 waiting'
    )


def test_the_ending_says_why_runs_failed_and_what_to_do():
    sweep = with_statuses('finished', 'failed', 'failed', exit=3).changed('b', last_lines=('one', 'error: two'))
    assert ending(sweep) == [
        '  b (exit 3): error: two',
        '  c (exit 3): ',
        'The same command continues.',
    ]


def test_a_sweep_that_has_finished_has_nothing_more_to_say():
    assert ending(with_statuses('finished', 'finished')) == []
