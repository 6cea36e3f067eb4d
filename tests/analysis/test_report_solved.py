# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Runs that ended when they had solved their task: seeds solved, steps to solve, costs, and the files."""

import csv
import io

import pytest
from report_study import config, write_run

from saccade.analysis.report.compare import StudyQuestion, compare
from saccade.analysis.report.equal_compute import equal_compute
from saccade.analysis.report.matrix import matrix
from saccade.analysis.report.runs import read_study
from saccade.analysis.report.solved import SolvedRuns, solved_runs
from saccade.analysis.report.tuning import TuningSearch, tuning
from saccade.analysis.report.write import report
from saccade.sweep.record import Sweep, SweepRun, write_sweep

BUDGET = 1200
# Steps at which each seed ended; None where it did not solve the task within the budget.
ENDS = {
    'quick': (300, 100, 200, 500, 400),
    'seldom': (None, None, 700, 800, None),
    'most': (None, 900, 700, 800, None),
    'never': (None,) * 5,
}


def write(folder, ends=ENDS, left=()):
    """A sweep whose runs are evaluated every 100 steps; `left` are runs that were cut short."""
    runs = []
    for heads, (name, steps) in enumerate(ends.items(), start=1):
        for seed, end in enumerate(steps):
            run = SweepRun(f'{name},seed={seed}', name, seed, (), BUDGET, status='finished')
            last, logged = end or BUDGET, [{'step': 0, 'split': 'plan', 'parameters': 9, 'flops': 10, 'tokens': 2}]
            for step in range(100, last + 1, 100):
                accuracy = 0.5 + 0.4 * step / last
                logged += [{'step': step, 'split': 'train', 'loss': 1.0, 'tokens_per_second': 4.0}]
                if step < last or run.name not in left:
                    outcome = [{'step': step, 'split': 'outcome', 'solved': int(end is not None)}]
                    logged += outcome if step == last else []
                    value = 0.995 if step == last and end else accuracy
                    logged += [{'step': step, 'split': 'validation', 'accuracy': value, 'loss': 1 - value}]
            write_run(folder / run.name, config(seed, heads, steps=BUDGET), logged)
            runs.append(run)
    write_sweep(folder, Sweep('base.py', 'solved.py', 'Solved', config(), tuple(runs)))
    return folder


def outcomes(folder):
    found = compare(read_study(folder), StudyQuestion('accuracy'))
    return {row.variant: solved_runs(found, row) for row in found.standings}


def test_seeds_solved_and_the_median_of_their_steps_are_counted(tmp_path):
    found = outcomes(write(tmp_path))
    assert {name: each.texts() for name, each in found.items()} == {
        'quick': ('5/5', '300'),
        'seldom': ('2/5', '> 1,200'),
        'most': ('3/5', '900'),
        'never': ('0/5', '> 1,200'),
    }


@pytest.mark.parametrize(
    ('steps', 'runs', 'median'),
    [((10,), 1, 10), ((10, 30), 2, 10), ((10,), 2, 10), ((10, 20), 4, 20), ((10,), 3, None), ((), 1, None)],
)
def test_the_median_is_the_fewest_steps_by_which_half_have_solved_it(steps, runs, median):
    assert SolvedRuns(steps, runs, 50).median == median


def test_a_solved_run_has_finished_and_its_cost_ends_with_it(tmp_path):
    found = compare(read_study(write(tmp_path)), StudyQuestion('accuracy'))
    assert found.states == {'finished': 20, 'failed': 0, 'unfinished': 0, 'not started': 0}
    rows = {row.variant: row for row in found.standings}
    assert rows['quick'].scores == dict.fromkeys(range(5), 0.995)
    assert rows['quick'].cost.flops == pytest.approx(10 * 300)
    assert rows['quick'].cost.seconds == pytest.approx(300 * 2 / 4)
    assert rows['never'].cost.flops == pytest.approx(10 * BUDGET)
    assert equal_compute(found) is None  # runs end at different steps by their own choice


def test_a_search_prefers_settings_that_solve_the_task_more_often_and_then_sooner(tmp_path):
    ends = {'peak=1': (300, 300), 'peak=2': (100, 400), 'peak=3': (None, 100), 'peak=4': (200, 500)}
    write(tmp_path, {f'one,{setting}': each for setting, each in ends.items()})
    found = tuning(read_study(tmp_path), ['one'], StudyQuestion('accuracy'))
    assert found.chosen() == {'one': 'peak=2'}
    assert found.kept(3) == {'one': ['peak=1', 'peak=2', 'peak=4']}
    shown = TuningSearch({None: found}).table({'one': 'peak=2'})[1]
    assert shown[2].endswith(' (2/2 solved, 100 steps) *')
    assert shown[3].endswith(' (1/2 solved, 100 steps)')


def test_equal_scores_are_their_own_mean(tmp_path):
    """The sum of five times 0.995, over five, is less by rounding, and a picture takes no negative deviation."""
    found = compare(read_study(write(tmp_path)), StudyQuestion('accuracy'))
    assert sum(5 * [0.995]) / 5 < 0.995
    assert next(row.mean for row in found.standings if row.variant == 'quick') == 0.995


def test_a_run_that_was_cut_short_has_no_outcome(tmp_path):
    found = outcomes(write(tmp_path, left=['quick,seed=0']))
    assert found['quick'].texts() == ('4/4', '200')


@pytest.mark.long
def test_every_file_has_the_outcomes(tmp_path):
    made = report(write(tmp_path), StudyQuestion('accuracy'))
    files = {file.name: file.read_text() for file in made.files}
    rows = {row['variant']: row for row in csv.DictReader(io.StringIO(files['variants.csv']))}
    assert {name: (row['seeds_solved'], row['seeds_with_outcome']) for name, row in rows.items()} == {
        'quick': ('5', '5'),
        'seldom': ('2', '5'),
        'most': ('3', '5'),
        'never': ('0', '5'),
    }
    assert (rows['quick']['median_steps_to_solve'], rows['never']['median_steps_to_solve']) == ('300', '')
    assert {row['budget'] for row in rows.values()} == {'1200'}
    runs = {row['run']: row for row in csv.DictReader(io.StringIO(files['runs.csv']))}
    assert [(runs[f'most,seed={seed}']['task_solved'], runs[f'most,seed={seed}']['step']) for seed in (0, 1)] == [
        ('0', '1200'),
        ('1', '900'),
    ]
    assert '| seeds solved | median steps to solve |' in files['report.md']
    assert '| 3/5 | 900 |' in files['report.md']
    assert r'| 2/5 | \> 1,200 |' in files['report.md']
    assert '>2/5</td><td class="number" data-label="median steps to solve">&gt; 1,200</td>' in files['index.html']
    assert r'\begin{tabular}[b]{@{}r@{}}median steps \\ to solve\end{tabular}' in files['table.tex']
    assert r' & 2/5 & $>$ 1,200 \\' in files['table.tex']
    for name in ('index.html', 'report.md'):
        assert 'Kaplan and Meier 1958' in files[name]
        assert 'compare the steps to solve' in files[name]
    assert (rows['quick']['parameters'], float(rows['quick']['flops'])) == ('9', 3000.0)


def test_a_matrix_has_the_outcomes(tmp_path):
    write(tmp_path / 'parity')
    cells = {cell['variant']: cell for cell in matrix(tmp_path, StudyQuestion()).records()}
    assert {name: (cell['seeds_solved'], cell['median_steps_to_solve']) for name, cell in cells.items()} == {
        'quick': (5, 300),
        'seldom': (2, None),
        'most': (3, 900),
        'never': (0, None),
    }
