# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A matrix of sweeps: shares of what lies between chance and the best, what is missing, and the files."""

import csv
import io
import json
import re
from dataclasses import replace
from datetime import datetime

import pytest
from report_study import config, records, write_run, write_task
from rich.console import Console

from saccade.analysis.report.compare import StudyQuestion
from saccade.analysis.report.matrix import matrix, overview, overview_of, sweeps_in
from saccade.analysis.report.matrix_files import matrix_report, published_page, published_picture
from saccade.analysis.report.matrix_pictures import against_state, by_length, seed_curves
from saccade.sweep.record import PrimaryComparison, Sweep, SweepRun, read_sweep, write_sweep
from saccade.sweep.suite import Suite, SuiteTask
from saccade.types import UserError

ACCURACIES = {
    'copying': {'<b>softmax</b>': [1.0, 1.0, 0.98], 'delta': [0.5, 0.7, 0.6]},
    'parity': {'<b>softmax</b>': [0.5, 0.49, 0.48], 'delta': [1.0, 0.99, 0.98], 'lstm': [0.9, 0.7, 0.8]},
}
CHANCE = {'copying': 0.1, 'parity': 0.5}


@pytest.fixture
def folder(tmp_path):
    for task, accuracies in ACCURACIES.items():
        write_task(tmp_path / 'suite' / task, accuracies, CHANCE[task])
    return tmp_path / 'suite'


def test_a_share_is_what_lies_between_chance_and_the_best(folder):
    found = matrix(folder, StudyQuestion())
    softmax, delta = (found.cells[name] for name in ('<b>softmax</b>', 'delta'))
    assert found.share('copying', delta['copying']) == pytest.approx((0.6 - 0.1) / 0.9)
    assert found.share('parity', softmax['parity']) == 0  # below chance
    assert [*found.cells] == ['<b>softmax</b>', 'delta', 'lstm']  # by name: tasks rank nothing


def test_no_share_where_all_are_worse_than_chance(tmp_path):
    write_task(tmp_path / 'recall', {'soft': [0.2, 0.3], 'delta': [0.1, 0.2]}, 0.5)
    found = matrix(tmp_path, StudyQuestion(metric='loss'))
    assert [found.share('recall', each['recall']) for each in found.cells.values()] == [0.0, 0.0]


def test_the_search_of_a_sweep_is_no_task(tmp_path):
    for name in ('recall', 'tuning', 'sizing'):
        write_task(tmp_path / name, {'soft': [0.2, 0.3]}, 0.5)
    assert [path.name for path in sweeps_in(tmp_path)] == ['recall']


def test_a_cell_says_that_seeds_are_missing(tmp_path):
    write_task(tmp_path / 'recall', {'soft': [0.2, 0.3], 'delta': [0.8, 0.9]}, 0.1)
    (tmp_path / 'recall/1,seed=1/metrics.jsonl').unlink()
    page = published_page(matrix(tmp_path, StudyQuestion()), Suite('What?', ()), datetime(2026, 11, 28))
    assert page.count('<span class="interval">1 of 2 seeds, incomplete</span></button>') == 1
    assert page.count('(1 of 2 seeds, incomplete)') == 2  # in what the cell opens, and as LaTeX


def test_of_a_loss_the_best_is_the_lowest_mean(folder):
    found = matrix(folder, StudyQuestion(metric='loss'))
    assert found.share('copying', found.cells['<b>softmax</b>']['copying']) == 1
    assert found.share('copying', found.cells['delta']['copying']) == pytest.approx((0.4 - 0.9) / (0.02 / 3 - 0.9))


def test_the_rows_say_chance_means_and_intervals(folder):
    heads, chance, *rows = matrix(folder, StudyQuestion()).rows()
    assert heads == ['variant', 'copying', 'parity', 'state bytes']
    assert chance == ['chance', '0.100', '0.500', '']
    assert re.fullmatch(r'0\.600 \[0\.\d+, 0\.\d+\]|0\.60 \[0\.\d+, 0\.\d+\]', rows[1][1]), rows[1]
    assert rows[2][:2] == ['lstm', '—']
    assert [row[-1] for row in rows] == ['100', '1.00 k', '10.0 k']


def test_an_interval_of_an_accuracy_ends_at_1(folder):
    best = matrix(folder, StudyQuestion()).cells['<b>softmax</b>']['copying'].interval
    assert best.high == 1.0
    assert best.low < 0.98


def test_its_overview_has_sizes_and_no_ranking(folder):
    assert overview(matrix(folder, StudyQuestion())) == '3 variants in 2 sweeps.'


@pytest.mark.long
def test_the_files_say_the_same_and_lead_to_each_sweeps_report(folder):
    written = matrix_report(folder, StudyQuestion())
    page, text, latex, cells = (file.read_text() for file in written.files)
    assert '&lt;b&gt;softmax&lt;/b&gt;' in page
    assert '<b>softmax' not in page
    addresses = re.findall(r'href="([^"]*index\.html)"', page)
    assert len(set(addresses)) == 2
    assert all((folder / 'report' / address).resolve().is_file() for address in addresses)
    assert '--share: 0.980' in page
    assert re.search(r'^\| delta \| 0\.6', text, re.M)
    assert re.search(r'^delta & 0\.6.* \\\\$', latex, re.M)
    assert re.search(r'^\$<\$b\$>\$softmax', latex, re.M)
    assert '<pre>% suite' in page
    rows = [*csv.DictReader(io.StringIO(cells))]
    (parity,) = [row for row in rows if (row['variant'], row['task']) == ('delta', 'parity')]
    assert float(parity['mean']) == pytest.approx(0.99)
    assert (float(parity['chance']), parity['seeds']) == (0.5, '3')
    assert float(parity['low']) < 0.99 < float(parity['high'])
    assert json.loads(json.dumps(written.summary()))['cells'][0]['variant'] == '<b>softmax</b>'
    assert written.summary()['pairs']['said'] in text
    drawn = {str(file.relative_to(folder / 'report')) for file in written.figures}
    assert {*re.findall(r'href="(figures/[^"]+)" download', page)} == drawn == {
        f'figures/state-{number}.{kind}' for number in (0, 1) for kind in ('pdf', 'svg')
    }  # fmt: skip
    assert all((folder / 'report' / file).stat().st_size for file in drawn)


def test_a_published_page_has_no_link_to_a_file(folder):
    tasks = tuple(SuiteTask(name, 'a.py', 'b.py', (), None) for name in ('copying', 'parity', 'recall'))
    page = published_page(matrix(folder, StudyQuestion()), Suite('What can it do?', tasks), datetime(2026, 11, 28))
    assert '3 variants in 2 sweeps. Without a result yet: recall.' in page
    assert '<h1>What can it do?</h1>' in page
    assert 'Computed on 28 November 2026.' in page
    assert 'popovertarget="cell-1-1"' in page
    assert {address for address in re.findall(r'(?:href|src)="([^"]*)"', page) if address[0] != '#'} == {'data:,'}


def test_a_published_page_has_the_positive_controls_and_no_ranks(folder):
    found = matrix(folder, StudyQuestion())
    tasks = (SuiteTask('parity', 'a.py', 'b.py', (), None, control='lstm'),)
    page = published_page(found, Suite('What can it do?', tasks), datetime(2026, 11, 28))
    assert '<h2>Positive controls</h2>' in page
    assert '<td class="text">parity</td><td class="text">lstm</td>' in page
    assert 'Which differences are real' not in page
    without = published_page(found, Suite('What can it do?', ()), datetime(2026, 11, 28))
    assert 'Positive controls' not in without


@pytest.mark.long
def test_a_cell_opens_its_runs_with_their_curves_and_commands(folder):
    page = matrix_report(folder, StudyQuestion()).files[0].read_text()
    opened = dict(re.findall(r'popover id="(cell-\d-\d)">(.*?)</ul>', page, re.S))
    assert {*re.findall(r'popovertarget="(cell-\d-\d)"', page)} == opened.keys()
    assert len(opened) == 5
    delta = opened['cell-2-2']
    assert re.search(r'<h3>.*delta: parity</h3>', delta)
    assert [*re.findall(r'<b>(.*?)</b>', delta)] == ['1,seed=0', '1,seed=1', '1,seed=2']
    assert delta.count('python launch/train.py') == 3
    assert not re.search(r'<svg class="seeds"', delta)  # each run was measured once


def test_the_curve_of_a_cell_has_a_line_for_each_seed_and_one_for_chance(tmp_path):
    for seed in range(2):
        logged = [{'step': step, 'split': 'validation', 'accuracy': step / 40} for step in (0, 20, 40)]
        logged += [{'step': 40, 'split': 'baseline', 'accuracy': 0.5}]
        write_run(tmp_path / 'a' / str(seed), config(seed), logged)
    (tmp_path / 'a').mkdir(exist_ok=True)
    write_sweep(
        tmp_path / 'a',
        Sweep('b.py', 's.py', 'S', config(), tuple(SweepRun(str(n), 'x', n, (), 40, 'finished', 0) for n in range(2))),
    )
    found = matrix(tmp_path, StudyQuestion())
    svg = seed_curves(found.comparisons['a'], found.cells['x']['a'], 1)
    assert svg.count('points="10.0,95.0 160.0,55.0 310.0,15.0"') == 2
    assert svg.count('class="chance" points="10.0,55.0 310.0,55.0"') == 1
    assert '>40 steps<' in svg


@pytest.mark.long
def test_rows_are_filtered_by_the_levels_of_factors_and_by_state(tmp_path):
    for task in ('copying', 'parity'):
        write_task(tmp_path / task, {'gla,off': [0.5], 'gla,on': [0.6], 'lstm,on': [0.7]}, 0.1)
        sweep = read_sweep(tmp_path / task)
        write_sweep(tmp_path / task, replace(sweep, factors=('mixer', 'convolution')))
    found = matrix(tmp_path, StudyQuestion())
    assert found.levels['mixer'] == {'gla,off': 'gla', 'gla,on': 'gla', 'lstm,on': 'lstm'}
    assert found.states == [100, 1000, 10000]
    page = matrix_report(tmp_path, StudyQuestion()).files[0].read_text()
    assert 'convolution <select name="factor-1"><option value="">all</option><option>off</option><option>on</op' in page
    assert '<tr data-name="gla,on" data-factor-0="gla" data-factor-1="on" data-state="1000">' in page
    write_sweep(tmp_path / 'parity', replace(sweep, factors=()))
    assert matrix(tmp_path, StudyQuestion()).levels == {}


@pytest.mark.long
def test_two_crossed_factors_have_a_picture_with_a_panel_for_each_task(tmp_path):
    scores = {'delta,off': [0.2, 0.3], 'delta,on': [0.9, 0.8], 'attention,off': [0.4, 0.5]}
    for task in ('recall', 'parity'):
        write_task(tmp_path / task, scores, 0.1)
        write_sweep(tmp_path / task, replace(read_sweep(tmp_path / task), factors=('mixer', 'convolution')))
    drawn = published_picture(matrix(tmp_path, StudyQuestion()))
    texts = re.findall(r'<text[^>]*>([^<]+)<', drawn)
    assert texts.count('delta') == texts.count('attention') == 1  # rows are named once, in the order of the sweep
    assert texts.index('delta') < texts.index('attention')
    assert {'recall', 'parity', 'convolution', 'off', 'on', 'chance'} <= set(texts)
    assert drawn.count('<title>delta,on: 0.850</title>') == 2
    assert '<title>attention,on' not in drawn
    page = matrix_report(tmp_path, StudyQuestion())
    assert 'Score by mixer and convolution' in page.files[0].read_text()
    assert {figure.name for figure in page.figures} >= {'factors.pdf', 'factors.svg'}


def test_a_verdict_of_crossed_factors_is_at_the_same_level_of_the_other(tmp_path):
    jitter = (0.01, -0.01, 0.0, 0.005, -0.005)
    means = {'attention,off': 0.2, 'attention,on': 0.9, 'delta,off': 0.6, 'delta,on': 0.5}
    write_task(tmp_path / 'recall', {name: [mean + x for x in jitter] for name, mean in means.items()}, 0.1)
    primary = PrimaryComparison('accuracy', 'attention,off', 0.05)
    write_sweep(
        tmp_path / 'recall',
        replace(read_sweep(tmp_path / 'recall'), factors=('mixer', 'convolution'), primary=primary),
    )
    found = matrix(tmp_path, StudyQuestion())
    verdicts = {row['variant']: row['verdict'] for row in found.records()}
    assert verdicts == {'attention,off': None, 'attention,on': None, 'delta,off': 'better', 'delta,on': 'worse'}
    notes = ('The protocol is <there>.',)
    page = published_page(found, Suite('What can it do?', (), notes), datetime(2026, 11, 28))
    assert '<p>The protocol is &lt;there&gt;.</p>' in page
    assert 'The margin, declared before the runs, is 0.05. Verdicts follow from the margin' in page


def test_a_picture_without_two_factors_is_refused(folder):
    with pytest.raises(UserError, match='a picture needs two factors that every sweep crosses'):
        published_picture(matrix(folder, StudyQuestion()))


def test_pictures_show_state_and_lengths_with_one_colour_for_a_variant(folder):
    longer = {'delta': 0.6, '<b>softmax</b>': 0.4}
    write_task(folder / 'recall', {name: ACCURACIES['copying'][name] for name in longer}, 0.1, longer)
    found = matrix(folder, StudyQuestion())
    states, curves = (draw(found.comparisons, found.places) for draw in (against_state, by_length))
    assert [*states] == ['copying', 'parity', 'recall']
    assert [*curves] == ['recall']
    assert all('>chance<' in picture.svg for picture in (*states.values(), *curves.values()))
    assert 'tokens of a sequence (trained on 32)' in curves['recall'].svg
    assert {'>32<', '>64<'} <= set(re.findall(r'>\d+<', curves['recall'].svg))
    # lstm is in one task alone: its number and its colour are those of its row.
    assert found.places == {'<b>softmax</b>': 1, 'delta': 2, 'lstm': 3}
    assert '--variant-2' in states['parity'].svg
    assert '--variant-2' not in states['copying'].svg


def test_the_matrix_says_why_no_differences_are_tested(folder):
    said = matrix(folder, StudyQuestion()).critical.said
    assert said.endswith('5 tasks and 3 variants: there are 2 tasks and 2 variants finished in all.')


def test_sweeps_that_have_not_been_evaluated_are_named(folder):
    for name in ('ringing', 'sorting'):
        (folder / name).mkdir()
        write_sweep(folder / name, Sweep('b.py', 's.py', 'Sorting', config(), (SweepRun('a', 'a', 0, (), 40),)))
    write_run(folder / 'sorting/a', config(), [{'step': 10, 'split': 'train', 'loss': 1.0}])
    found = matrix(folder, StudyQuestion())
    assert [*found.comparisons] == ['copying', 'parity']
    assert overview(found) == '3 variants in 2 sweeps. Not evaluated yet: ringing, sorting.'
    suite = Suite('What?', tuple(SuiteTask(name, 'a.py', 'b.py', (), None) for name in ('sorting', 'stack')))
    assert overview_of(found, suite) == f'{overview(found)} Without a result yet: stack.'


def test_a_folder_without_any_evaluation_is_refused(tmp_path):
    (tmp_path / 'sorting').mkdir()
    write_sweep(tmp_path / 'sorting', Sweep('b.py', 's.py', 'Sorting', config(), (SweepRun('a', 'a', 0, (), 40),)))
    with pytest.raises(UserError, match=r'^sorting: .*this run .*has metrics'):
        matrix(tmp_path, StudyQuestion())


def test_a_split_that_no_sweep_logs_is_refused(folder):
    with pytest.raises(UserError, match=r'^copying: --split=test: no run logs it; there are '):
        matrix(folder, StudyQuestion(split='test'))


def test_a_folder_of_runs_is_no_matrix(folder):
    assert [path.name for path in sweeps_in(folder)] == ['copying', 'parity']
    assert sweeps_in(folder / 'copying') == []
    assert sweeps_in(folder / 'missing') == []


@pytest.mark.long
def test_runs_next_to_sweeps_are_said_to_be_left_out(folder):
    for name in ('a run', 'b_run'):
        write_run(folder / name, config(), records(0, 1))
    found = matrix_report(folder, StudyQuestion())
    assert found.summary()['left_out'] == ['a run', 'b_run']
    console = Console(file=io.StringIO(), width=200)
    found.show(console)
    for text in (console.file.getvalue(), (folder / 'report/index.html').read_text()):
        assert 'Left out: 2 runs of no sweep here: a run, b_run.' in text
    assert 'Left out: 2 runs of no sweep here: a run, b\\_run.' in (folder / 'report/report.md').read_text()


def test_without_such_runs_nothing_is_said_of_them(folder):
    assert 'Left out' not in overview(matrix(folder, StudyQuestion()))
