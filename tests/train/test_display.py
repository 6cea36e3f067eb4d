# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The phases of a run as people see them."""

import io
import time

import pytest
from rich.console import Console

from saccade.progress import counted, listening
from saccade.train.log import display
from saccade.train.log.display import Display, clock, line

WORDS = ('loss 3.2145  tokens/s 12,345  MFU 41.2%', 'loss 3.2145  tokens/s 12,345', 'loss 3.2145')


def shown(width, count=(52_000, 100_000, ''), words=WORDS, seconds=(70.2, 14_000.0), name='training'):
    return line(name, count, words, seconds, width).plain


@pytest.mark.parametrize('width', [20, 40, 60, 80, 120, 200])
@pytest.mark.parametrize(
    'count', [(0, 100_000, ''), (52_000, 100_000, ''), (100_000, 100_000, ''), (7, None, 'rows'), (0, None, '')]
)
@pytest.mark.parametrize('seconds', [(0.0, None), (70.2, 3.0), (70.2, 14_000.0)])
def test_a_line_fits_the_screen(width, count, seconds):
    assert len(shown(width, count, seconds=seconds)) <= width


def test_60_columns_have_a_bar_the_steps_the_loss_and_both_times():
    text = shown(60)
    assert '━━━' in text
    assert text.endswith('52,000/100,000  loss 3.2145  1:10 left 3:53:20')


def test_a_wide_screen_has_the_speed_too():
    assert 'tokens/s 12,345  MFU 41.2%  1:10 left 3:53:20' in shown(120)
    assert shown(80).count('tokens/s') == 1


def test_the_bar_is_as_full_as_the_steps_are_done():
    text = line('training', (25, 100, ''), (), (1.0, 3.0), 120)
    full, rest = (span.end - span.start for span in text.spans)
    assert full / (full + rest) == pytest.approx(0.25)


@pytest.mark.parametrize(
    ('seconds', 'text'), [(0.4, '0 s'), (59.0, '59 s'), (60.0, '1:00'), (3599.6, '1:00:00'), (7384.0, '2:03:04')]
)
def test_times_are_read_at_a_glance(seconds, text):
    assert clock(seconds) == text


def test_the_time_left_is_known_from_the_second_step_however_slow_the_steps_are(monkeypatch):
    now = [0.0]
    terminal = Console(file=io.StringIO(), force_terminal=True, width=100)
    monkeypatch.setattr(terminal, 'get_time', lambda: now[0])
    shows = Display(terminal)
    phase = shows.begin('training', total=10)
    (task,) = shows._shown._progress.tasks
    for step in (1, 2, 3):
        now[0] += 40.0  # longer than the 30 s for which rich remembers by default
        phase.tell(step)
    assert task.time_remaining == pytest.approx(280, abs=1)
    assert task.elapsed == pytest.approx(120, abs=1)
    phase.end()


def test_a_phase_in_a_pipe_is_printed_when_it_lasts_and_again_with_how_far_it_is(monkeypatch):
    monkeypatch.setattr(display, '_BEATS', (0.05, 0.15))
    file = io.StringIO()
    phase = Display(Console(file=file, width=100)).begin('preparing data', unit='rows')
    phase.tell(1200)
    time.sleep(0.4)
    phase.end()
    assert file.getvalue().splitlines()[:2] == ['preparing data ...  1,200 rows', 'preparing data ...  1,200 rows  0 s']
    said = file.getvalue()
    time.sleep(0.3)
    assert file.getvalue() == said


def test_a_phase_in_a_pipe_that_is_over_at_once_says_nothing():
    file = io.StringIO()
    shows = Display(Console(file=file))
    with listening(shows.begin):
        assert list(counted(range(3), 'evaluating', 3)) == [0, 1, 2]
    assert file.getvalue() == ''


def test_a_terminal_shows_each_phase_and_keeps_the_line_of_training():
    file = io.StringIO()
    shows = Display(Console(file=file, force_terminal=True, width=60))
    with shows.phase('compiling'):
        pass
    training = shows.begin('training', total=4)
    training.words(['loss 2'])
    for step in range(1, 5):
        training.tell(step)
    with listening(shows.begin):
        assert list(counted(range(3), 'evaluating', 3)) == [0, 1, 2]
    shows.say('step 4/4  [validation]  loss 2')
    training.end()
    text = file.getvalue()
    assert 'compiling' in text
    assert '[validation]' in text
    assert '4/4' in text.splitlines()[-1] or '4/4' in text.splitlines()[-2]
