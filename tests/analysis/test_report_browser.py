# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The report in a browser: on a phone and on desks, offline. Skipped, saying so, where there is no Chromium."""

import html
import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from report_study import write_study, write_task

from saccade.analysis.report.compare import StudyQuestion
from saccade.analysis.report.matrix_files import matrix_report
from saccade.analysis.report.write import report
from saccade.sweep.record import read_sweep, write_sweep

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
PHONE, DESK, WIDE = 390, 1280, 1920

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
  const list = document.querySelector('.sort select'), phone = list.getBoundingClientRect().width > 0;
  // What stands beyond its cell, or on a phone beyond the page, with letters as wide as any reader's font has them.
  const clipped = () => [...document.querySelectorAll('table.cards td')].filter(cell => {
    const box = cell.getBoundingClientRect(), edge = Math.min(box.right, phone ? root.clientWidth : box.right) + 1;
    return cell.scrollWidth > cell.clientWidth + 1 || [...cell.querySelectorAll('*')].some(part =>
      part.getBoundingClientRect().right > edge || part.getBoundingClientRect().left < box.left - 1);
  }).map(cell => `${cell.dataset.label}: ${cell.innerText}`);
  const numbers = [...document.querySelectorAll('table.sortable td data')].map(number => number.innerText);
  const table = document.querySelector('table.sortable'), box = table.parentElement;
  const fits = box.scrollWidth <= box.clientWidth + 1;
  const share = table.getBoundingClientRect().width / root.clientWidth;
  const column = [...table.tHead.rows[0].cells].findIndex(head => head.innerText.startsWith('parameters'));
  const sorted = [1, 2].map(() => {
    table.tHead.rows[0].cells[column].querySelector('button').click();
    return [...table.tBodies[0].rows].map(row => row.cells[column].innerText.trim());
  });
  list.value = 0;
  list.dispatchEvent(new Event('change'));
  const ranks = [...table.tBodies[0].rows].map(row => row.cells[0].innerText.trim().slice(-1));
  const latex = document.querySelector('details.copied');
  latex.open = true;
  latex.querySelector('button').click();
  const copied = getSelection().toString();
  latex.open = false;
  document.body.style.letterSpacing = '.06em';
  document.querySelector('table.sortable td.text').append('_name'.repeat(20));
  parent.postMessage({
    copied, clipped: clipped(), numbers, fits, share, sorted, list: phone, ranks,
    width: root.clientWidth, scroll: root.scrollWidth, tabs, wide, letter: Math.min(...letters),
    loaded: performance.getEntriesByType('resource').map(entry => entry.name),
  }, '*');
};
</script>"""
# What the matrix of a suite does: its filters and its cells.
PROBE_OF_MATRIX = """<script>
window.onload = () => {
  const root = document.documentElement, form = document.querySelector('form.filters');
  const table = document.querySelector('table.matrix'), rows = () => [...table.tBodies[0].rows];
  const shown = (name, value) => {
    form.elements[name].value = value;
    form.dispatchEvent(new Event('input'));
    const left = rows().filter(row => row.checkVisibility()).map(row => row.dataset.name);
    form.reset();
    form.dispatchEvent(new Event('input'));
    return left;
  };
  const filtered = [shown('name', 'gla'), shown('factor-1', 'on'), shown('state', '100'), shown('name', '')];
  const cell = rows()[0].querySelector('td.cell > button');
  const box = document.getElementById(cell.getAttribute('popovertarget'));
  const visible = [box.checkVisibility()];
  cell.click();
  visible.push(box.checkVisibility());
  const edges = box.getBoundingClientRect();
  table.tHead.rows[0].cells[1].querySelector('button').click();
  table.tHead.rows[0].cells[1].querySelector('button').click();
  parent.postMessage({
    filtered, visible, fits: edges.left >= 0 && edges.right <= root.clientWidth,
    order: rows().map(row => row.dataset.name),
    text: box.innerText, width: root.clientWidth, scroll: root.scrollWidth,
  }, '*');
};
</script>"""
FRAME = """<script>onmessage = event => document.title = JSON.stringify(event.data);</script>
<iframe src="{page}" style="border: 0; width: {width}px; height: 3000px"></iframe>"""

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(CHROMIUM is None, reason='there is no Chromium here to look at the report with'),
]


def probed(page: Path, probe: str, folder: Path) -> Path:
    """Return a copy of a page that tells what it looks like; scripts are let in for that alone."""
    text = page.read_text()
    opened = re.sub('<meta http-equiv="Content-Security-Policy"[^>]*>', '', text)
    assert opened != text
    (folder / 'page.html').write_text(opened.replace('</body>', f'{probe}</body>'))
    return folder / 'page.html'


def look(page: Path, width: int, folder: Path) -> dict[str, Any]:
    """Return what a page tells in a window of some width."""
    (folder / 'frame.html').write_text(FRAME.format(page=page.as_uri(), width=width))
    command = [CHROMIUM, *FLAGS, f'--user-data-dir={folder / "profile"}', (folder / 'frame.html').as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    title = re.search(r'<title>(.*?)</title>', done.stdout)
    assert title, done.stderr[-2000:]
    return {**json.loads(html.unescape(title[1])), 'asked': width}


@pytest.fixture(scope='module')
def page(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp('browser')
    return probed(report(write_study(folder / 'sweep')).files[0], PROBE, folder)


@pytest.fixture(scope='module', params=[PHONE, DESK, WIDE], ids=['phone', 'desk', 'wide'])
def seen(request, page, tmp_path_factory) -> dict[str, Any]:
    return look(page, request.param, tmp_path_factory.mktemp('seen'))


def test_nothing_goes_beyond_the_side_of_the_page(seen):
    assert seen['width'] <= seen['asked']
    assert seen['scroll'] <= seen['width']
    assert seen['wide'] == 0


def test_all_pictures_are_there_and_each_tab_shows_its_own(seen):
    end, costs = ['at the end of training', 'by heads'], ['parameters', 'FLOPs', 'training time', 'state bytes']
    for axis, pictures in zip(('steps', 'tokens', 'FLOPs', 'training time'), seen['tabs'], strict=True):
        before, after = [*end, f'against {axis}'], [f'against {cost}' for cost in costs]
        training = ['Training loss against steps', 'Gradient norm against steps']
        metric = [[f'Bits per byte {what}' for what in group] for group in (before, after)]
        assert pictures == [*metric[0], *training, *metric[1]]


def test_pictures_can_be_read(seen):
    assert seen['letter'] >= 9  # CSS pixels


def test_no_number_is_clipped(seen):
    assert seen['clipped'] == []
    assert '528' in seen['numbers']  # state bytes a token


def test_the_table_uses_the_screen(seen):
    assert seen['fits']
    assert seen['share'] > 0.9


def test_columns_sort_and_what_is_unknown_comes_last(seen):
    assert seen['sorted'] == [['1.00 k', '2.00 k', '4.00 k', '—'], ['4.00 k', '2.00 k', '1.00 k', '—']]
    assert seen['list'] == (seen['asked'] == PHONE)  # where there are no heads to click
    assert seen['ranks'] == ['1', '2', '3', '—']


def test_a_button_copies_the_table_as_latex(seen):
    assert seen['copied'].startswith('% How many heads? <b>&')
    assert seen['copied'].rstrip().endswith(r'\end{tabular}')


def test_the_browser_lets_our_script_in_and_the_page_needs_none(tmp_path):
    page = report(write_study(tmp_path / 'sweep')).files[0]
    command = [CHROMIUM, *FLAGS, f'--user-data-dir={tmp_path / "profile"}']
    run = subprocess.run([*command, page.as_uri()], capture_output=True, text=True, timeout=120)
    assert '<label class="sort">' in run.stdout
    page.write_text(page.read_text().replace("script-src '", "script-src 'none' '").replace('Sorts a', 'Another'))
    refused = subprocess.run([*command, page.as_uri()], capture_output=True, text=True, timeout=120)
    assert '<label class="sort">' not in refused.stdout
    assert '<th class="number">parameters</th>' in refused.stdout


def test_the_page_loads_nothing_in_a_browser(seen):
    assert seen['loaded'] == []


@pytest.mark.parametrize('width', [PHONE, DESK])
def test_the_rows_of_a_matrix_are_filtered_and_sorted_and_its_cells_open(width, tmp_path):
    for task, values in {'copying': (0.5, 0.7, 0.6), 'parity': (0.5, 0.9, 1.0)}.items():
        accuracies = {name: [value] for name, value in zip(('gla,off', 'gla,on', 'lstm,on'), values, strict=True)}
        write_task(tmp_path / 'suite' / task, accuracies, 0.1)
        sweep = read_sweep(tmp_path / 'suite' / task)
        write_sweep(tmp_path / 'suite' / task, replace(sweep, factors=('mixer', 'convolution')))
    written = matrix_report(tmp_path / 'suite', StudyQuestion()).files[0]
    found = look(probed(written, PROBE_OF_MATRIX, tmp_path), width, tmp_path)
    every = ['gla,off', 'gla,on', 'lstm,on']
    assert found['filtered'] == [every[:2], every[1:], every[:1], every]
    assert found['order'] == ['gla,on', 'lstm,on', 'gla,off']
    assert found['visible'] == [False, True]
    assert found['fits']
    assert 'gla,off: copying' in found['text']
    assert found['scroll'] <= found['width']
