# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The report's numbers, computed again from the runs' files; what it says of runs that did not finish; bad input."""

import base64
import csv
import hashlib
import html
import html.parser
import io
import json
import math
import re
import shutil
import statistics
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from xml.etree import ElementTree

import pytest
from matplotlib.figure import Figure
from report_study import BASELINE, FAILED, LAST_LINES, SAMPLE, config, records, start, write_run, write_study
from scipy import stats

from saccade.analysis.report import curves, drawing, page, tables
from saccade.analysis.report.compare import Comparison, StudyQuestion, compare
from saccade.analysis.report.interval import difference_intervals, mean_intervals
from saccade.analysis.report.page import overview
from saccade.analysis.report.runs import read_study
from saccade.analysis.report.write import report
from saccade.types import UserError

PREFIXES = {'': 1, 'k': 1e3, 'M': 1e6, 'G': 1e9}
SUMS = 1e-12  # relative: sums in another order


class Page(html.parser.HTMLParser):
    """The tags of a page, and the names of their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


@pytest.fixture(scope='session')
def folder(tmp_path_factory) -> Path:
    return write_study(tmp_path_factory.mktemp('sweeps') / 'heads')


@pytest.fixture(scope='session')
def files(folder) -> dict[str, str]:
    return {file.name: file.read_text() for file in report(folder).files}


@pytest.fixture(scope='session')
def far(tmp_path_factory) -> Path:
    """The folder of a study whose baseline is better than all runs, and far from them."""
    folder = write_study(tmp_path_factory.mktemp('sweeps') / 'heads')
    for file in folder.glob('*/metrics.jsonl'):
        file.write_text(file.read_text().replace(f'"bits_per_byte": {BASELINE}', '"bits_per_byte": 0.9'))
    return folder


def compared(folder: Path, metric: str | None = None) -> Comparison:
    return compare(read_study(folder), StudyQuestion(metric))


def logged(run: Path, split: str) -> list[dict]:
    lines = (run / 'metrics.jsonl').read_text().splitlines()
    return [record for record in map(json.loads, lines) if record['split'] == split]


def seconds(run: Path) -> float:
    spent, before = 0.0, 0
    for record in logged(run, 'train'):
        spent += (record['step'] - before) * 256 / record['tokens_per_second']
        before = record['step']
    return spent


def scores(folder: Path, metric: str = 'bits_per_byte') -> dict[int, dict[int, float]]:
    """The metric at step 40 by heads and seed, of the runs that got there."""
    found: dict[int, dict[int, float]] = {}
    for run in folder.glob('heads=*'):
        heads, seed = map(int, re.findall(r'\d+', run.name))
        for record in logged(run, 'validation'):
            if record['step'] == 40:
                found.setdefault(heads, {})[seed] = record[metric]
    return found


def expected_ranking(folder: Path) -> list[list[float]]:
    """Mean, its interval, difference, its interval, seeds to tell it, and costs: complete ones first, by mean."""
    found = scores(folder)
    wanted = max(map(len, found.values()))
    order = sorted(found, key=lambda heads: (len(found[heads]) < wanted, statistics.fmean(found[heads].values())))
    best = statistics.fmean(found[order[0]].values())
    intervals = mean_intervals([list(found[heads].values()) for heads in order])
    differences = difference_intervals([found[heads] for heads in order], best=0)
    runs = {heads: [folder / f'heads={heads},seed={seed}' for seed in found[heads]] for heads in order}
    speeds = [[40 * 256 / seconds(run) for run in runs[heads]] for heads in order]
    spreads = mean_intervals(speeds)
    rows = []
    for place, (heads, interval, difference) in enumerate(zip(order, intervals, differences, strict=True)):
        mean = statistics.fmean(found[heads].values())
        plan = logged(runs[heads][0], 'plan')[0]
        rows.append([mean, interval.low, interval.high])
        rows[-1] += [mean - best, difference.low, difference.high] if difference else []
        complete = len(found[heads]) == wanted
        unclear = difference and difference.holds(0.0) and complete
        rows[-1] += [fewest_seeds(found[heads], found[order[0]])] if unclear else []
        rows[-1] += [plan['parameters'], plan['flops'] / 256]
        rows[-1] += [statistics.fmean(speeds[place]), max(spreads[place].low, 0), spreads[place].high]
        rows[-1] += [plan['temp_bytes'], plan['state_bytes'] * 8 / 256]
    return rows


def fewest_seeds(one: dict[int, float], other: dict[int, float]) -> int:
    """Seeds with which 80% of t-tests at 5% find a difference of variants that ran other seeds, one by one."""
    deviation = math.hypot(statistics.stdev(one.values()), statistics.stdev(other.values()))
    effect = abs(statistics.fmean(one.values()) - statistics.fmean(other.values())) / deviation
    for count in range(2, 10_000):
        critical = stats.t.ppf(0.975, count - 1)
        shifted = stats.nct(count - 1, effect * math.sqrt(count))
        if shifted.sf(critical) + shifted.cdf(-critical) >= 0.8:
            return count
    raise AssertionError('too small a difference for this test')


class Data(html.parser.HTMLParser):
    """Collects, for each row of tables and lists, its text and the exact and shown form of each number in it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.rows: list[list[tuple[float, str]]] = []
        self.texts: list[str] = []
        self._exact: str | None = None
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        if tag in ('tr', 'li'):
            self.rows.append([])
            self.texts.append('')
        if tag == 'data':
            self._exact = dict(attributes)['value']

    def handle_data(self, text):
        if self._exact is not None:
            self.rows[-1].append((float(self._exact), text))
            self._exact = None
        if self.texts:
            self.texts[-1] += text


def read_number(text: str) -> tuple[float, float]:
    """A number as shown, and how far rounding may have moved it."""
    number, _, prefix = text.replace('\N{MINUS SIGN}', '-').replace(',', '').partition(' ')
    decimals = len(number.partition('.')[2])
    return float(number) * PREFIXES[prefix], 0.5000001 * 10**-decimals * PREFIXES[prefix]


@pytest.mark.long
def test_the_numbers_of_the_ranking_are_those_of_the_files(folder, files):
    data = Data(files['index.html'])
    ranked = [row for row in data.rows if len(row) > 1]
    for row, expected in zip(ranked, expected_ranking(folder), strict=True):
        assert [exact for exact, _ in row] == pytest.approx(expected, rel=SUMS, abs=SUMS)
        for exact, text in row:
            value, rounding = read_number(text)
            assert value == pytest.approx(exact, abs=rounding)


@pytest.mark.long
def test_the_numbers_of_all_runs_are_those_of_the_files(folder, files):
    data = Data(files['index.html'])
    single = {row[0][0] for row in data.rows if len(row) == 1}
    assert single == {score for seeds in scores(folder).values() for score in seeds.values()}
    rows = list(csv.DictReader(io.StringIO(files['runs.csv'])))
    assert len(rows) == 10
    for row in rows:
        run = folder / row['run']
        if not run.exists():
            assert (row['state'], row['step'], row['seconds']) == ('not started', '0', '')
            continue
        last, plan = logged(run, 'train')[-1]['step'], logged(run, 'plan')[0]
        finished = [record['bits_per_byte'] for record in logged(run, 'validation') if record['step'] == 40]
        assert row['config.heads'] == row['run'][6]
        assert [float(value) for value in [row['validation/bits_per_byte']] if value] == finished
        assert int(row['step']) == last
        assert int(row['parameters']) == plan['parameters']
        assert int(row['flops']) == last * plan['flops']
        assert int(row['tokens']) == last * 256
        assert float(row['seconds']) == pytest.approx(seconds(run), rel=SUMS)
        assert float(row['tokens_per_second']) == pytest.approx(last * 256 / seconds(run), rel=SUMS)


@pytest.mark.long
def test_markdown_holds_the_same_numbers(folder, files):
    lines = [line for line in files['report.md'].splitlines() if re.match(r'\| \d', line)]
    for line, expected in zip(lines, expected_ranking(folder), strict=True):
        shown = re.findall(r'[+\N{MINUS SIGN}]?\d+\.\d+ ?[kMG]?', line)
        found = [read_number(text.strip()) for text in shown]
        assert len(found) >= 4
        for value, rounding in found:
            assert any(abs(value - number) <= rounding for number in expected), (value, expected)
    for seeds in scores(folder).values():
        for score in seeds.values():
            assert f'| finished | {score:.3f} |' in files['report.md'] or f'| {score:.2f} |' in files['report.md']


@pytest.mark.long
def test_the_one_script_is_the_one_that_the_page_lets_in(files):
    (script,) = re.findall(r'<script>(.*?)</script>', files['index.html'], flags=re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in files['index.html']


@pytest.mark.long
def test_the_baseline_is_in_all_pictures_of_the_metric(files):
    pictures = re.findall(r'<svg.*?</svg>', files['index.html'], flags=re.DOTALL)
    named = [picture for picture in pictures if '>simple baseline</text>' in picture]
    assert len(named) == 2 + 4 * 2 + 4  # the numbers, the curves and the costs; the caption names it in the forest
    assert 'The dashed line is the simple baseline.' in files['index.html']


def test_a_baseline_far_from_all_runs_leaves_pictures_as_they_are():
    assert drawing.reaching((1.0, 2.0), None) == (1.0, 2.0)
    assert drawing.reaching((1.0, 2.0), 2.5) == (1.0, 2.55)
    assert drawing.reaching((1.0, 2.0), 4.0) == (1.0, 2.0)


@pytest.mark.long
def test_a_baseline_beyond_a_picture_is_an_arrow_with_its_number(far):
    page = report(far).files[0].read_text()
    pictures = re.findall(r'<svg.*?</svg>', page, flags=re.DOTALL)
    assert sum('>← simple baseline 0.900</text>' in picture for picture in pictures) == 2
    assert sum('>simple baseline 0.9 ↓</text>' in picture for picture in pictures) == 2 + 4 * 2 + 4
    assert 'The simple baseline is outside the picture.' in page
    figure = Figure()
    axes = figure.add_subplot()
    drawing.level(axes, 3.0, (1.0, 2.0))
    assert axes.get_ylim() == (1.0, 2.08)  # the text hides no data
    assert [text.get_text() for text in axes.texts] == ['simple baseline 3 ↑']


@pytest.mark.long
def test_a_warning_says_that_no_variant_beats_the_baseline(far, files):
    text = 'No variant beats the simple baseline (0.900): a simpler predictor of the same data is as good or better, so'
    contents = {file.name: file.read_text() for file in report(far).files[:2]}
    assert f'<aside class="notice"><p>{text}' in contents['index.html']
    assert f'**{text}' in contents['report.md']
    assert 'Not better than' not in contents['index.html']
    assert 'No variant beats' not in files['index.html']
    assert 'Every variant beats the simple baseline (1.560).' in files['index.html']


def test_labels_are_over_lines_on_the_colour_of_the_page(files):
    (picture,) = re.findall(
        r'<svg class="wide"[^>]*at the end of training".*?</svg>', files['index.html'], flags=re.DOTALL
    )
    lines, label = picture.rindex('var(--faint); stroke-width: 0.8'), picture.index('>1 heads=1</text>')
    assert lines < picture.rindex('fill: var(--page)', 0, label) < label


def test_points_have_their_values_on_hover(files):
    titles = re.findall(r'<g><title>(.*?)</title>', files['index.html'])
    rows = {row['run']: row for row in csv.DictReader(io.StringIO(files['runs.csv']))}
    value = float(rows['heads=1,seed=0']['validation/bits_per_byte'])
    assert {'heads=1: 1.537 [1.529, 1.546]', f'seed 0: {value:.3f}', 'simple baseline 1.560'} <= {*titles}
    assert 'hover:' not in files['index.html']


@pytest.mark.long
def test_each_picture_of_the_page_is_a_file_that_opens_alone(folder):
    made = report(folder)
    page, figures = made.files[0].read_text(), made.figures
    assert sorted(re.findall(r'href="figures/([^"]+)" download', page)) == sorted(file.name for file in figures)
    assert len(figures) == 2 * (2 + 4 + 2 + 4)
    for file in figures:
        if file.suffix == '.svg':
            root = ElementTree.fromstring(file.read_bytes())
            assert root.tag == '{http://www.w3.org/2000/svg}svg'
            assert 'var(' not in file.read_text()  # a colour that only the page has
            assert any(
                name in text for text in root.itertext() for name in ('bits per byte', 'training loss', 'gradient')
            )
        else:
            assert file.read_bytes().startswith(b'%PDF-')
            assert file.read_bytes().rstrip().endswith(b'%%EOF')
    again = {file: file.read_bytes() for file in figures}
    report(folder)
    assert again == {file: file.read_bytes() for file in figures}  # without a date


def test_the_best_is_bold_in_latex(files):
    assert r'\textbf{1.537} {[}1.529, 1.546]' in files['table.tex']
    assert files['table.tex'].count(r'\textbf') == 1


def test_tables_in_latex_are_narrow(files, tmp_path):
    kinds = re.findall(r'^\\begin\{tabular\}\{(l+r+)\}$', files['table.tex'], re.MULTILINE)
    assert kinds == ['lrrr', 'lrrrrr']  # results, costs
    assert r'\begin{tabular}[b]{@{}r@{}}FLOPs a \\ token\end{tabular}' in files['table.tex']
    assert r'heads=4 & 1.512 {[}1.491, 1.533] & $-$0.025 {[}$-$0.058, +0.008] & 2 of 3 \\' in files['table.tex']
    alike = page.latex(compared(write_study(tmp_path / 'heads', whole=True)), datetime.now())
    assert re.search('^% the same in all rows: seeds 3; ', alike, re.MULTILINE)
    assert '& seeds' not in alike


@pytest.mark.skipif(shutil.which('pdflatex') is None, reason='there is no LaTeX here')
def test_the_table_can_be_compiled(files, tmp_path):
    lines = r'\documentclass{article}\usepackage{booktabs}\begin{document}\tiny', files['table.tex'], r'\end{document}'
    (tmp_path / 'paper.tex').write_text('\n'.join(lines))
    command = ['pdflatex', '-halt-on-error', '-interaction=nonstopmode', 'paper.tex']
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:]


def test_training_is_drawn_by_few_points(tmp_path):
    logs = records(0, 1)
    logs[1:1] = [{'step': step, 'split': 'train', 'loss': float(step), 'tokens_per_second': 1.0} for step in range(200)]
    write_run(tmp_path / 'a', config(), sorted(logs, key=lambda record: record['step']))
    series = curves.Series('loss', 'train', 'loss', 'training loss', points=50)
    (line,) = curves.lines(compared(tmp_path), 'steps', series)
    assert len(line.x) == len(line.mean) == 50
    assert line.x[0] == pytest.approx(1.5)  # of steps 0 to 3
    titles = [picture.title for picture in curves.training(compared(tmp_path))]
    assert titles == ['Training loss against steps', 'Gradient norm against steps']


def test_columns_that_no_run_logged_are_left_out(tmp_path):
    write_run(tmp_path / 'a', config(), records(0, 1, plan=False))
    names, row = tables.ranking(compared(tmp_path))
    assert names == ['rank', 'variant', 'bits per byte [95% interval]', 'difference to the best', 'seeds']
    assert len(row) == len(names)


def test_the_verdict_says_how_many_seeds_would_tell(tmp_path):
    folder = write_study(tmp_path / 'sweep', whole=True)
    by_heads = scores(folder)
    order = sorted(by_heads, key=lambda heads: statistics.fmean(by_heads[heads].values()))
    beside = difference_intervals([by_heads[heads] for heads in order], best=0)
    alike = [heads for heads, interval in zip(order[1:], beside[1:], strict=True) if interval.holds(0.0)]
    assert alike
    seeds = [fewest_seeds(by_heads[heads], by_heads[order[0]]) for heads in alike]
    each = ', '.join(f'{count} from heads={heads}' for count, heads in sorted(zip(seeds, alike, strict=True)))
    assert f'seeds of each would distinguish it: {each}.' in page.verdict(compared(folder))


def test_programs_get_the_same_numbers(folder):
    found = json.loads(tables.as_json(tables.summary(compared(folder, 'accuracy'))))
    assert (found['metric'], found['best']) == ('accuracy', 'highest')
    expected = scores(folder, 'accuracy')
    means = {f'heads={heads}': statistics.fmean(seeds.values()) for heads, seeds in expected.items()}
    ranked = [row for row in found['ranking'] if row['mean'] is not None]
    assert {row['variant']: row['mean'] for row in ranked} == pytest.approx(means)
    # Of the others a seed failed or has not finished.
    assert [row['complete'] for row in ranked] == [True, False, False]
    assert ranked[0]['variant'] == 'heads=1'
    assert ranked[1]['mean'] > ranked[2]['mean']
    assert found['states'] == {'finished': 7, 'failed': 1, 'unfinished': 1, 'not started': 1}
    assert {row['run']: row['state'] for row in found['runs']}['heads=8,seed=0'] == 'not started'


@pytest.mark.parametrize('axis', ['steps', 'tokens', 'FLOPs', 'time'])
def test_a_learning_curve_is_the_mean_over_seeds_of_what_was_logged(folder, axis):
    first, *_ = curves.lines(compared(folder), axis)
    best = 1  # the only one that finished all its seeds
    runs = [folder / f'heads={best},seed={seed}' for seed in scores(folder)[best]]
    values = [[record['bits_per_byte'] for record in logged(run, 'validation')] for run in runs]
    assert list(first.mean) == pytest.approx([statistics.fmean(column) for column in zip(*values, strict=True)])
    assert list(first.low) == [min(column) for column in zip(*values, strict=True)]
    assert list(first.high) == [max(column) for column in zip(*values, strict=True)]
    step = {'steps': 1, 'tokens': 256, 'FLOPs': logged(runs[0], 'plan')[0]['flops']}.get(axis)
    spent = [step * at for at in (10, 20, 30, 40)] if step else [mean_seconds(runs, at) for at in (10, 20, 30, 40)]
    assert list(first.x) == pytest.approx(spent)


def mean_seconds(runs: list[Path], step: int) -> float:
    """Seconds up to a step that was logged, over runs."""
    return statistics.fmean(
        sum(5 * 256 / record['tokens_per_second'] for record in logged(run, 'train') if record['step'] <= step)
        for run in runs
    )


def test_time_is_interpolated_between_train_records(tmp_path):
    logs = records(0, 1)
    for record in logs:
        record['step'] += record['split'] == 'validation'  # between two train records, and the last past the end
    write_run(tmp_path / 'a', config(), logs)
    write_run(tmp_path / 'b', config(heads=2), records(0, 2))
    found = {line.place: line for line in curves.lines(compared(tmp_path), 'time')}
    place = next(row.place for row in compared(tmp_path).standings if row.variant == 'heads=1')
    train = logged(tmp_path / 'a', 'train')
    spent = [sum(5 * 256 / record['tokens_per_second'] for record in train[:count]) for count in (2, 3)]
    assert found[place].x[0] == pytest.approx(spent[0] + (spent[1] - spent[0]) / 5)
    assert len(found[place].x) == 3


def test_runs_that_did_not_finish_enter_no_mean_and_say_how_far_they_came(folder, files):
    alone = re.sub('<details class="copied">.*?</details>', '', files['index.html'], flags=re.DOTALL)  # the LaTeX
    page = ' '.join(''.join(Data(alone).texts).split())
    assert (
        '4 variants, 1 to 3 seeds each; 10 runs: 7 finished, 1 failed, 1 unfinished, 1 not started.'
        in files['report.md']
    )
    for text in (page, files['report.md']):
        assert 'failed (exit status 1) at step 25 of 40' in text
        assert 'unfinished at step 25 of 40' in text
        assert 'not started' in text
        assert text.count('2 of 3 seeds, incomplete') == 2
        assert text.count('0 of 3 seeds, incomplete') == 1
    assert FAILED[1] not in scores(folder)[4]


def test_a_failed_run_says_why(files):
    for name in ('index.html', 'report.md'):
        assert LAST_LINES[1] in files[name]
    assert 'Traceback &lt;most&gt; recent' in files['index.html']
    assert '    Traceback <most> recent & so on\n' in files['report.md']  # indented: Markdown shows it as it stands


def test_names_and_samples_are_text_and_never_markup(files):
    assert files['index.html'].count('<script') == 1  # ours, that sorts the table
    assert 'How many heads? &lt;b&gt;&amp;' in files['index.html']
    assert '<b>&' not in files['report.md']
    assert (
        SAMPLE.replace('&', '&amp;').replace('<', '&lt;').replace('>', '&gt;').replace('"', '&#34;')
        in files['index.html']
    )


def test_the_page_loads_nothing(files):
    page = files['index.html']
    assert 'http' not in page.replace('http-equiv', '')
    assert '@import' not in page
    assert {address[:1] for address in re.findall(r'url\(([^)]*)\)', page)} <= {'#'}
    assert re.findall(r'\bsrc=', page) == []
    assert {address.split(':')[0] for address in re.findall(r'<link[^>]*href="([^"]*)"', page)} == {'data'}
    assert "default-src 'none'" in page


def test_links_lead_to_the_files_of_each_run(folder, files):
    links = set(re.findall(r'<a href="([^"]*)"', files['index.html']))
    assert len(links) == 9 * 5 + 2 * 12  # and the pictures, as PDF and as SVG
    for link in links:
        relative = link.replace('%3D', '=').replace('%2C', ',')
        assert (folder / 'report' / relative).resolve().is_file()


def test_ids_are_unique_over_all_pictures(files):
    page = files['index.html']
    ids = re.findall(r'\bid="([^"]*)"', page)
    # Forest, numbers and four curves in two widths; training loss, gradient norm and four costs.
    assert page.count('<svg') == 2 + 2 + 4 * 2 + 2 + 4
    assert len(ids) == len(set(ids)) > 100
    assert set(re.findall(r'(?:url\(#|href="#)([^")]*)', page)) <= set(ids)


def test_pictures_keep_their_text(files):
    drawn = ''.join(re.findall(r'<text.*?</text>', files['index.html'], flags=re.DOTALL))
    for words in ('heads=1', 'heads=2', 'heads=4', 'bits per byte', 'training tokens', 'parameters'):
        assert words in drawn


def test_only_fields_that_differ_are_shown(files):
    heads = re.search(r'<thead>.*?</thead>', files['index.html'], flags=re.DOTALL)[0]
    assert '<th>heads</th>' in heads
    assert 'width' not in heads
    assert '<th>variant</th>' in heads  # one has not begun, so that its name alone tells what it is


def test_names_that_say_no_more_than_the_fields_are_left_out(tmp_path):
    write_run(tmp_path / 'a', config(heads=1), records(0, 1))
    write_run(tmp_path / 'b', config(heads=2), records(0, 2))
    names, *rows = tables.ranking(compared(tmp_path))
    assert names[:3] == ['rank', 'heads', 'bits per byte [95% interval]']
    assert [row[1] for row in rows] in (['1', '2'], ['2', '1'])


def test_a_second_report_is_the_same_whatever_the_order_of_runs(folder, files, tmp_path):
    stored = json.loads((folder / 'sweep.json').read_text())
    for place, run in enumerate(folder.glob('heads=*')):
        (tmp_path / run.name).symlink_to(run)
        assert place < 9
    stored['runs'].reverse()
    (tmp_path / 'sweep.json').write_text(json.dumps(stored))
    again = compared(tmp_path)
    first = compared(folder)
    for one, other in zip(first.standings, again.standings, strict=True):
        assert (one.variant, one.mean, one.interval) == (other.variant, other.mean, other.interval)
        assert (one.difference, one.difference_interval) == (other.difference, other.difference_interval)


@pytest.mark.long
def test_runs_of_a_folder_without_a_sweep_are_grouped_by_their_configs(tmp_path):
    for name, seed, heads, width in (('a', 0, 1, 32), ('b', 1, 1, 32), ('c', 0, 2, 32), ('d', 0, 1, 64)):
        settings = config(seed, heads)
        settings['model']['width'] = width
        write_run(tmp_path / name, settings, records(seed, heads, plan=name != 'c'))
    found = report(tmp_path).comparison
    assert {row.variant: sorted(row.scores) for row in found.standings} == {
        'heads=1,width=32': [0, 1],
        'heads=2,width=32': [0],
        'heads=1,width=64': [0],
    }
    unknown = next(row.cost for row in found.standings if row.variant.startswith('heads=2'))
    assert unknown.parameters is unknown.flops is unknown.seconds is unknown.speed is None
    page = (tmp_path / 'report/index.html').read_text()
    last = re.search('and ranked last: (.*?)\\.', page)[1]
    assert sorted(last.split(', ')) == ['heads=1,width=64 (1 of 2 seeds)', 'heads=2,width=32 (1 of 2 seeds)']
    assert 'against parameters' not in page  # not all of them logged it


def test_loss_ranks_where_a_finished_run_lacks_bits_per_byte(tmp_path):
    write_run(tmp_path / 'a', config(), records(0, 1))
    write_run(tmp_path / 'b', config(heads=2), [
        {name: value for name, value in record.items() if name != 'bits_per_byte'} for record in records(0, 2)
    ])  # fmt: skip
    assert compared(tmp_path).metric == 'loss'


def test_a_value_that_is_not_finite_enters_no_mean(tmp_path):
    for seed in range(3):
        logs = records(seed, 1)
        logs[-1]['bits_per_byte'] = 'NaN' if seed == 1 else logs[-1]['bits_per_byte']
        write_run(tmp_path / str(seed), config(seed), logs)
    found = compared(tmp_path)
    (row,) = found.standings
    assert sorted(row.scores) == [0, 2]
    assert math.isfinite(row.mean)
    assert tables.state(found, row.trials[1]) == 'finished, but its bits per byte is nan'
    assert json.loads(tables.as_json(tables.summary(found)))['runs'][1]['validation/bits_per_byte'] is None


def test_a_seed_that_was_run_twice_counts_once(tmp_path):
    for name, seed in (('a', 0), ('b', 0), ('c', 1)):
        write_run(tmp_path / name, config(seed), records(ord(name), 1))
    (row,) = compared(tmp_path).standings
    ends = {name: logged(tmp_path / name, 'validation')[-1]['bits_per_byte'] for name in 'abc'}
    assert row.scores == {0: statistics.fmean([ends['a'], ends['b']]), 1: ends['c']}


@pytest.mark.long
def test_a_run_in_a_sweeps_folder_that_is_not_of_the_sweep_is_said_to_be_left_out(tmp_path):
    study = write_study(tmp_path / 'study')
    assert read_study(study).left_out == ()
    write_run(study / 'mine', config(), records(0, 1))
    found = compare(read_study(study), StudyQuestion())
    assert overview(found).endswith(' Left out: 1 run of no sweep here: mine.')
    assert tables.summary(found)['left_out'] == ['mine']


@pytest.mark.long
def test_nothing_finished_yet_is_said(tmp_path):
    write_run(tmp_path / 'a', config(), records(0, 1, last=20))
    found = report(tmp_path)
    assert found.comparison.standings[0].mean is None
    assert 'No run has finished' in (tmp_path / 'report/index.html').read_text()


@pytest.mark.long
def test_above_twelve_variants_the_best_twelve_are_drawn(tmp_path):
    for width in range(14):
        settings = config()
        settings['model']['width'] = width
        logs = records(0, 1)
        logs[-1]['bits_per_byte'] = 1 + width
        write_run(tmp_path / f'{width:02}', settings, logs)
    report(tmp_path)
    page = (tmp_path / 'report/index.html').read_text()
    assert 'The pictures show the best 12 of 14 variants' in page
    drawn = ''.join(re.findall(r'<svg.*?</svg>', page, flags=re.DOTALL))
    assert 'width=11<' in drawn
    assert 'width=12<' not in drawn


@pytest.mark.long
def test_names_of_any_script_and_formulas_stay_text(tmp_path):
    names = ('$\\frac$', '机器\u3000学习', 'a|b`c', '--><img src=x>')
    for place, name in enumerate(names):
        write_run(tmp_path / str(place), config(note=name), records(0, 1))
    (tmp_path / '0/samples.jsonl').write_text('{"step": 1, "text": "\\u001b[31m\\ud800 red"}\n')
    report(tmp_path)
    page = (tmp_path / 'report/index.html').read_text()
    for name in names:
        assert page.count(f'note={html.escape(name)}') >= 2  # in the picture and beside it
    assert '<img' not in page
    assert '<pre>\N{REPLACEMENT CHARACTER}[31m\N{REPLACEMENT CHARACTER} red</pre>' in page
    assert 'a\\|b\\`c' in (tmp_path / 'report/report.md').read_text()


HOSTILE = (
    '<script>alert(1)</script>',
    '$\\frac{',
    'a|b',
    '`x`',
    '"><img src=x onerror=y>',
    '[a](http://b.c)',
    '=1+1',
    '\x1b[2J',
)


@pytest.mark.long
def test_names_of_runs_fields_and_metrics_are_text_in_every_file(tmp_path):
    name = '=' + ' '.join(HOSTILE)
    for place, each in enumerate(HOSTILE):
        note = {name: each, 'number': place}
        found = [{**record, name: 1.0 + place} for record in records(0, 1)]
        write_run(tmp_path / f'{each.replace("/", "")}{place}', config(**note), found)
    files = {file.name: file.read_text() for file in report(tmp_path, StudyQuestion(name, best='lowest')).files}
    page = Page()
    page.feed(files['index.html'])
    assert files['index.html'].count('<script') == 1  # ours, that sorts the table
    assert (page.tags & {'img'}, page.attributes & {'onerror', 'src'}) == (set(), set())
    rows = [re.sub(r'\\.', '', line) for line in files['report.md'].splitlines() if line.startswith('| ')]
    assert len({row.count('|') for row in rows[:6]}) == 1
    assert not any(mark in row for row in rows for mark in ('<', '`', '$'))
    assert '\x1b' not in ''.join(files.values())
    assert not any(cell[:1] in '=+-@\t\r' for row in csv.reader(io.StringIO(files['runs.csv'])) for cell in row if cell)


@pytest.mark.long
def test_a_number_in_the_table_of_runs_stays_a_number_and_a_formula_becomes_text(tmp_path):
    notes = ['=HYPERLINK("http://a.b")', '+cmd', '-cmd', '@sum', '\t=1', '-0.5', '+1e3', 'plain', "'=1"]
    for place, note in enumerate(notes):
        write_run(tmp_path / str(place), config(note=note, depth=-place), records(0, 1))
    report(tmp_path)
    with (tmp_path / 'report/runs.csv').open() as file:
        rows = list(csv.DictReader(file))
    written = {int(row['run']): (row['config.note'], row['config.depth']) for row in rows}
    for place, note in enumerate(notes):
        assert written[place] == (f"'{note}" if place < 5 else note, str(-place))


def leave_empty(folder: Path) -> None:
    folder.mkdir()


def leave_one_run(folder: Path) -> None:
    write_run(folder, config(), records(0, 1))


def leave_no_metrics(folder: Path) -> None:
    write_run(folder / 'a', config(), [])


def damage_metrics(folder: Path) -> None:
    write_run(folder / 'a', config(), records(0, 1))
    (folder / 'a/metrics.jsonl').write_text('{"step": 1, "split": "train"}\n{"ste\n{"step": 2}\n')


def put_text_for_a_number(folder: Path) -> None:
    write_run(folder / 'a', config(), [{'step': 1, 'split': 'train', 'loss': 'low'}])


def damage_the_config(folder: Path) -> None:
    write_run(folder / 'a', config(), records(0, 1))
    (folder / 'a/config.json').write_text('{')


@pytest.mark.parametrize(
    ('spoil', 'question', 'words'),
    [
        (lambda folder: None, StudyQuestion(), ('no such folder', 'launch/sweep.py')),
        (leave_empty, StudyQuestion(), ('no runs', 'config.json')),
        (leave_one_run, StudyQuestion(), ('this is one run', '--workdir=')),
        (leave_no_metrics, StudyQuestion(), ('metrics', '/a:')),
        (damage_metrics, StudyQuestion(), ('metrics.jsonl: line 2 is damaged',)),
        (put_text_for_a_number, StudyQuestion(), ('loss is "low", not a number',)),
        (damage_the_config, StudyQuestion(), ('config.json: cannot be read as JSON',)),
        (write_study, StudyQuestion('bleu'), ('--metric=bleu', 'accuracy, bits_per_byte, loss')),
        (write_study, StudyQuestion(split='test'), ('--split=test', 'train, validation')),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(tmp_path, spoil, question, words):
    spoil(tmp_path / 'runs')
    before = sorted(tmp_path.rglob('*'))
    with pytest.raises(UserError) as refusal:
        report(tmp_path / 'runs', question)
    assert '\n' not in str(refusal.value)
    for word in words:
        assert word in str(refusal.value)
    assert sorted(tmp_path.rglob('*')) == before


@pytest.mark.long
def test_a_part_that_runs_name_is_never_imported(tmp_path, monkeypatch):
    package = tmp_path / 'evil'
    package.mkdir()
    (package / '__init__.py').write_text('from pathlib import Path\nPath(__file__).with_name("ran").touch()\n')
    (package / 'mine.py').write_text('class Mine: pass\n')
    for seed in range(2):
        settings = config(seed)
        settings['model']['use'] = settings['task']['use'] = 'evil.mine:Mine'
        settings['model']['block']['mixer'] = {'use': f'evil.mine:Mine{seed}'}
        write_run(tmp_path / 'runs' / str(seed), settings, records(seed, 1), [start()])
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    report('runs')
    assert 'Mine0' in (tmp_path / 'runs/report/index.html').read_text()
    assert not (package / 'ran').exists()
    assert not any(name.partition('.')[0] == 'evil' for name in sys.modules)


@pytest.mark.long
def test_a_place_that_cannot_be_written_to_is_refused(folder, tmp_path):
    (tmp_path / 'out').write_text('')
    with pytest.raises(UserError, match='cannot be written to'):
        report(folder, out=tmp_path / 'out')
