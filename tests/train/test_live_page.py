# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The page that a run rewrites while it trains."""

import io
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from rich.console import Console

from saccade.train.log import live_page
from saccade.train.log.display import Display
from saccade.train.log.live_page import LivePage, ticks
from saccade.train.log.log import Log
from saccade.types import UserError

RELOADS = '<meta http-equiv="refresh" content="5">'


@pytest.fixture
def clock(monkeypatch):
    """Seconds of the page's clock, which a test moves."""
    seconds = [1000.0]
    monkeypatch.setattr(live_page.time, 'monotonic', lambda: seconds[0])
    return seconds


@pytest.fixture
def sink(tmp_path, clock):
    found = LivePage(100)
    found.open(tmp_path, {}, 0)
    return found


def facts(folder):
    """The named values of the page."""
    return dict(re.findall('<dt>(.*?)</dt><dd>(.*?)</dd>', (folder / 'live.html').read_text()))


def test_it_shows_losses_speed_time_left_and_the_last_sample(sink, clock, tmp_path):
    clock[0] += 10
    sink.write(5, 'train', {'loss': 2.5, 'tokens_per_second': 12345.6})
    sink.write(5, 'validation', {'loss': 2.75})
    sink.sample(5, 'earlier')
    clock[0] += 10
    sink.sample(5, 'a <b> & c\x1b[2J')
    assert facts(tmp_path) == {
        'step': '5 of 100',
        'training loss': '2.5000',
        'validation loss': '2.7500',
        'tokens/s': '12,346',
        'time left': '6:20',  # 95 steps at 20 seconds for 5
    }
    page = (tmp_path / 'live.html').read_text()
    assert RELOADS in page
    assert '<pre>a &lt;b&gt; &amp; c\ufffd[2J</pre>' in page
    assert '<title>step 5: 2.7500</title>' in page
    assert 'earlier' not in page


def test_it_is_rewritten_at_most_every_five_seconds_and_at_the_end(sink, clock, tmp_path):
    file = tmp_path / 'live.html'
    for seconds, seen in ((0, 0), (4, 0), (2, 3), (4, 3)):
        clock[0] += seconds
        step = sink._step + 1
        sink.write(step, 'train', {'loss': 1.0})
        assert facts(tmp_path)['step'] == f'{seen} of 100'
    sink.close()
    assert facts(tmp_path)['step'] == '4 of 100'
    assert [path.name for path in tmp_path.iterdir()] == [file.name]  # no temporary files


@pytest.mark.parametrize(
    ('records', 'status'),
    [
        ([(100, 'train', {'loss': 1.0})], 'stopped'),
        ([(100, 'baseline', {'loss': 1.0}), (100, 'validation', {'loss': 1.0})], 'finished'),
        ([(40, 'outcome', {'solved': 1}), (40, 'validation', {'loss': 1.0})], 'finished'),
        ([(40, 'outcome', {'solved': 0}), (40, 'validation', {'loss': 1.0})], 'stopped'),
    ],
)
def test_its_last_version_says_how_the_run_ended_and_reloads_no_more(sink, tmp_path, records, status):
    for record in records:
        sink.write(*record)
    sink.close()
    page = (tmp_path / 'live.html').read_text()
    assert f'<p class="faint">{status}, written ' in page
    assert RELOADS not in page
    assert 'time left' not in page


def test_a_failed_run_says_so(tmp_path):
    with pytest.raises(UserError, match='not a number'), log_of(tmp_path) as opened:
        opened.write(1, 'train', {'loss': 'high'})
    assert '<p class="faint">failed, written ' in (tmp_path / 'live.html').read_text()


def test_a_resumed_run_keeps_its_curve_and_its_sample(tmp_path):
    with log_of(tmp_path) as opened:
        for step in (1, 2, 3):
            opened.write(step, 'train', {'loss': 1.0 / step})
        opened.sample(2, 'kept')
    with log_of(tmp_path, start=2) as opened:
        opened.write(3, 'train', {'loss': 0.5})
    page = (tmp_path / 'live.html').read_text()
    (line,) = re.findall('<polyline points="([^"]+)"', page)
    assert len(line.split()) == 3
    assert '<pre>kept</pre>' in page
    assert facts(tmp_path)['training loss'] == '0.5000'


def test_a_long_run_keeps_a_curve_of_bounded_size(sink, tmp_path):
    for step in range(1, 5001):
        sink.write(step, 'train', {'loss': 5000.0 / step})
    sink.close()
    (line,) = re.findall('<polyline points="([^"]+)"', (tmp_path / 'live.html').read_text())
    assert 400 <= len(line.split()) <= 800


def test_it_is_well_formed_whatever_the_numbers(sink, tmp_path):
    for loss in (float('nan'), float('inf'), 0.0, -1e30, 1e30):
        sink.write(3, 'train', {'loss': loss})
        sink.write(3, 'validation', {'accuracy': 0.5})
    sink.close()
    page = (tmp_path / 'live.html').read_text()
    HTMLParser().feed(page)
    ElementTree.fromstring(page[page.index('<svg') : page.index('</svg>') + len('</svg>')])
    assert '{' not in page.partition('</style>')[2]


@pytest.mark.parametrize(
    ('low', 'high', 'marks'),
    [
        (4.6, 6.1, [4.5, 5, 5.5, 6, 6.5]),
        (0.0, 1.0, [0, 0.5, 1]),
        (2.0, 2.0, [2, 2.5]),
        (-3.0, 40.0, [-20, 0, 20, 40]),
        (0.0, 0.0, [0, 0.5]),
    ],
)
def test_ticks_are_few_and_round(low, high, marks):
    assert ticks(low, high) == marks


def log_of(folder, start=0):
    return Log(folder, 100, start=start, display=Display(Console(file=io.StringIO(), _environ={})))
