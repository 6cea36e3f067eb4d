# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The report in a browser: on a phone and on a desk, offline. Skipped, saying so, where there is no Chromium."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from report_study import write_study

from saccade.analysis.report.write import report

CHROMIUM = shutil.which('chromium') or shutil.which('chromium-browser') or shutil.which('google-chrome')
FLAGS = (
    '--headless',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    '--virtual-time-budget=5000',
    '--dump-dom',
)
PHONE, DESK = 390, 1280

# What the page looks like from inside, tab by tab. It stands in a frame, for no window can be as narrow as a phone.
PROBE = """<script>
window.onload = () => {
  const root = document.documentElement;
  const visible = () => [...document.querySelectorAll('svg')].filter(svg => svg.getBoundingClientRect().width > 100);
  const tabs = [...document.querySelectorAll('.tabs > input')].map(tab => {
    tab.click();
    return visible().map(svg => svg.getAttribute('aria-label'));
  });
  const wide = visible().filter(svg => svg.getBoundingClientRect().right > root.clientWidth + 1).length;
  const letters = visible().flatMap(svg => [...svg.querySelectorAll('text')].map(text =>
    parseFloat(getComputedStyle(text).fontSize) * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width));
  parent.postMessage({
    width: root.clientWidth, scroll: root.scrollWidth, tabs, wide, letter: Math.min(...letters),
    loaded: performance.getEntriesByType('resource').map(entry => entry.name),
  }, '*');
};
</script>"""
FRAME = """<script>onmessage = event => document.title = JSON.stringify(event.data);</script>
<iframe src="{page}" style="border: 0; width: {width}px; height: 3000px"></iframe>"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason='there is no Chromium here to look at the report with'),
]


@pytest.fixture(scope='module')
def probed(tmp_path_factory) -> Path:
    """A copy of a report's page that tells what it looks like; scripts are let in for that alone."""
    folder = tmp_path_factory.mktemp('browser')
    page = report(write_study(folder / 'sweep')).files[0].read_text()
    opened = re.sub('<meta http-equiv="Content-Security-Policy"[^>]*>', '', page)
    assert opened != page
    (folder / 'page.html').write_text(opened.replace('</body>', f'{PROBE}</body>'))
    return folder / 'page.html'


@pytest.fixture(scope='module', params=[PHONE, DESK], ids=['phone', 'desk'])
def seen(request, probed, tmp_path_factory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp('seen')
    (folder / 'frame.html').write_text(FRAME.format(page=probed.as_uri(), width=request.param))
    command = [CHROMIUM, *FLAGS, f'--user-data-dir={folder / "profile"}', (folder / 'frame.html').as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    title = re.search(r'<title>(.*?)</title>', done.stdout)
    assert title, done.stderr[-2000:]
    return {**json.loads(title[1].replace('&amp;', '&')), 'asked': request.param}


def test_nothing_goes_beyond_the_side_of_the_page(seen):
    assert seen['width'] <= seen['asked']
    assert seen['scroll'] <= seen['width']
    assert seen['wide'] == 0


def test_all_pictures_are_there_and_each_tab_shows_its_own(seen):
    end, costs = ['at the end of training', 'by heads'], ['parameters', 'FLOPs', 'training time']
    for axis, pictures in zip(('steps', 'tokens', 'FLOPs', 'training time'), seen['tabs'], strict=True):
        shown = [*end, f'against {axis}', *(f'against {cost}' for cost in costs)]
        assert pictures == [f'Bits per byte {what}' for what in shown]


def test_pictures_can_be_read(seen):
    assert seen['letter'] >= 9  # CSS pixels


def test_the_page_loads_nothing_in_a_browser(seen):
    assert seen['loaded'] == []
