# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The page that a sweep rewrites while its runs train."""

import json
import re

import pytest
from pretended import sweep_of

from saccade.sweep import live_board
from saccade.sweep.folder import SweepFolder
from saccade.sweep.live_board import LiveBoard

RELOADS = '<meta http-equiv="refresh" content="5">'


@pytest.fixture
def clock(monkeypatch):
    """Seconds of the page's clock, which a test moves."""
    seconds = [1000.0]
    monkeypatch.setattr(live_board.time, 'monotonic', lambda: seconds[0])
    return seconds


@pytest.fixture
def board(tmp_path, clock):
    return LiveBoard(SweepFolder.of(tmp_path))


def rows(folder):
    page = (folder / 'live.html').read_text().partition('<tbody>')[2]
    return [re.sub('<[^>]*>', ' ', row).split() for row in re.findall('<tr.*?</tr>', page)]


def test_it_has_the_rows_of_the_board_and_links_to_the_pages_of_the_runs(board, clock, tmp_path):
    sweep = sweep_of('', '', steps=2000).changed('a', status='running')
    (tmp_path / 'a').mkdir()
    (tmp_path / 'a/metrics.jsonl').write_text(
        json.dumps({'step': 1500, 'split': 'train', 'loss': 3.14159, 'tokens_per_second': 12345.6}) + '\n'
    )
    (tmp_path / 'a/live.html').write_text('')
    board.changed(sweep.runs[0])
    clock[0] += 90
    board.refresh(sweep)
    assert rows(tmp_path) == [['a', 'running', '1,500/2,000', '3.1416', '12,346', '1.5'], ['b', 'waiting', '0/2,000']]
    page = (tmp_path / 'live.html').read_text()
    assert re.findall('<a href="([^"]+)">', page) == ['a/live.html']
    assert '<p class="faint">1 running, 1 waiting, about 2 minutes left, written ' in page
    assert RELOADS in page


def test_it_is_rewritten_at_most_every_five_seconds_and_at_the_end(board, clock, tmp_path):
    for seconds, status in ((0, 'waiting'), (4, 'waiting'), (1, 'finished')):
        clock[0] += seconds
        board.refresh(sweep_of('').changed('a', status='finished' if clock[0] > 1000 else 'waiting'))
        assert rows(tmp_path)[0][1] == status
    board.close(sweep_of('').changed('a', status='failed'))
    assert rows(tmp_path)[0][1] == 'failed'
    assert RELOADS not in (tmp_path / 'live.html').read_text()


def test_a_sweep_goes_on_where_it_cannot_be_written(tmp_path):
    LiveBoard(SweepFolder.of(tmp_path / 'absent')).close(sweep_of(''))
