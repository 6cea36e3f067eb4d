# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Non-inferiority to a baseline: verdicts by a declared margin, what lacks one, the files, and coverage."""

import csv
import io
import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from report_study import config, write_run
from scipy import stats

from benchmarks.coverage import Case, bound_coverage
from saccade.analysis.report.compare import StudyQuestion, compare
from saccade.analysis.report.margin import margin_test
from saccade.analysis.report.matrix import matrix
from saccade.analysis.report.runs import read_study
from saccade.analysis.report.words import MINUS
from saccade.analysis.report.write import report
from saccade.sweep.record import PrimaryComparison, Sweep, SweepRun, read_sweep, write_sweep
from saccade.types import UserError

STUDIES = 2000
NOISE = (-0.004, 0.001, 0.002, -0.002, 0.003)  # of a difference by seed; its one-sided half-width is below 0.005
LUCK = (0.03, -0.05, 0.01, 0.04, -0.02)  # of a seed, shared by the variants
LOSSES = {'same': 0.0, 'slightly-less': -0.01, 'at-the-margin': -0.02, 'less': -0.04}
GAINS = {'plain': 0.0, **LOSSES, 'more': 0.01, 'far-more': 0.04}
VERDICTS = {
    'same': 'not worse',
    'slightly-less': 'not worse',  # though its loss is significant
    'at-the-margin': 'inconclusive',
    'less': 'worse',
    'more': 'not worse',
    'far-more': 'better',
}
PRIMARY = PrimaryComparison('accuracy', 'plain', 0.02)


def write(folder, primary=PRIMARY, gains=GAINS, seeds=5, noise=NOISE, left=()):
    """A sweep with the accuracy 0.5 plus a gain; its loss is 1 minus its accuracy. `left` are runs not evaluated."""
    runs = []
    for heads, (name, gain) in enumerate(gains.items(), start=1):
        for seed in range(seeds):
            run = SweepRun(f'{name},seed={seed}', name, seed, (), 40, status='finished')
            accuracy = 0.5 + gain + LUCK[seed] + (noise[seed] if name != 'plain' else 0.0)
            values = {'accuracy': accuracy, 'loss': 1 - accuracy}
            split = 'train' if run.name in left else 'validation'
            logged = [{'step': 40, 'split': split, **values}, {'step': 40, 'split': 'validation_64', **values}]
            write_run(folder / run.name, config(seed, heads), logged)
            runs.append(run)
    write_sweep(folder, Sweep('base.py', 'gains.py', 'Gains', config(), tuple(runs), primary=primary))
    return folder


def against_plain(folder, **question):
    return margin_test(compare(read_study(folder), StudyQuestion(**question)))


def verdicts(found):
    return {row.row.variant: row.verdict for row in found.rows}


@pytest.mark.parametrize('metric', ['accuracy', 'loss'])
def test_verdicts_are_by_the_margin_whichever_end_is_best(tmp_path, metric):
    found = against_plain(write(tmp_path, replace(PRIMARY, metric=metric)))
    assert verdicts(found) == VERDICTS
    assert found.said == (
        f'With a margin of 0.02{" nats" if metric == "loss" else ""} in {metric}, declared before the runs, of 6 '
        'variants compared with plain: 1 better, 3 not worse, 1 inconclusive, 1 worse.'
    )


def test_bounds_are_one_sided_and_paired_by_seed(tmp_path):
    found = against_plain(write(tmp_path, gains={'plain': 0.0, 'less': -0.04}))
    (row,) = found.rows
    error = stats.sem(NOISE)
    assert row.mean == pytest.approx(-0.04 + np.mean(NOISE))
    for bound, t in zip((row.bounds.low, row.bounds.high), stats.t.ppf((0.05, 0.95), 4), strict=True):
        assert bound - row.mean == pytest.approx(t * error, rel=0.1)  # a bootstrap-t of five values is near Student's


def test_two_seeds_have_students_bounds_and_no_verdict(tmp_path):
    (row,) = against_plain(write(tmp_path, gains={'plain': 0.0, 'less': -0.04}, seeds=2)).rows
    half = stats.t.ppf(0.95, 1) * stats.sem(NOISE[:2])
    assert (row.bounds.low, row.bounds.high) == pytest.approx((row.mean - half, row.mean + half))
    assert (row.verdict, row.note) == ('inconclusive', '2 seeds; a verdict needs 5')


def test_equal_differences_are_their_own_bounds(tmp_path):
    found = against_plain(write(tmp_path, gains={'plain': 0.0, 'same': 0.0, 'less': -0.04}, noise=5 * (0.0,)))
    assert verdicts(found) == {'same': 'not worse', 'less': 'worse'}
    assert found.of('less').bounds.low == found.of('less').bounds.high == pytest.approx(-0.04)


def test_a_variant_that_lacks_a_seed_has_no_verdict(tmp_path):
    found = against_plain(write(tmp_path, left=['less,seed=3']))
    assert verdicts(found) == {**VERDICTS, 'less': 'inconclusive'}
    assert found.of('less').note == 'incomplete: less (4 of 5 seeds)'
    assert {row.note for row in found.rows if row.row.variant != 'less'} == {''}


@pytest.mark.long
def test_a_baseline_without_a_finished_run_is_said(tmp_path):
    folder = write(tmp_path, left=[f'plain,seed={seed}' for seed in range(5)])
    found = against_plain(folder)
    assert (found.said, found.table()) == (
        'plain, the baseline, has no finished run yet, so nothing can be compared with it.',
        [],
    )
    assert found.said in report(folder).files[1].read_text()


@pytest.mark.parametrize('asked', [{'metric': 'loss'}, {'split': 'validation_64'}, {'over': 'same'}])
def test_another_comparison_than_the_declared_one_has_no_verdicts(tmp_path, asked):
    found = against_plain(write(tmp_path), **asked)
    assert {row.verdict for row in found.rows} == {None}
    assert 'its margin for accuracy of validation against plain' in found.said
    assert 'verdict' not in found.table()[0]


def test_a_report_ranks_by_the_declared_metric(tmp_path):
    write(tmp_path)
    assert compare(read_study(tmp_path), StudyQuestion()).metric == 'accuracy'
    assert compare(read_study(tmp_path), StudyQuestion(metric='loss')).metric == 'loss'


def test_a_baseline_without_a_margin_has_differences_only(tmp_path):
    found = against_plain(write(tmp_path, PrimaryComparison(baseline='plain')))
    assert {row.verdict for row in found.rows} == {None}
    assert 'The sweep declares no margin' in found.said
    assert against_plain(write(tmp_path / 'none', PrimaryComparison())) is None


@pytest.mark.long
def test_every_file_has_the_verdicts(tmp_path):
    made = report(write(tmp_path, gains={**GAINS, 'a_b&c': 0.0}))
    files = {file.name: file.read_text() for file in made.files}
    rows = {row['variant']: row for row in csv.DictReader(io.StringIO(files['variants.csv']))}
    assert {name: row['verdict'] for name, row in rows.items()} == {**VERDICTS, 'plain': '', 'a_b&c': 'not worse'}
    assert (rows['less']['baseline'], rows['less']['margin']) == ('plain', '0.02')
    assert float(rows['less']['difference']) == pytest.approx(-0.04 + np.mean(NOISE))
    assert float(rows['less']['bound_low']) < -0.04 < float(rows['less']['bound_high']) < -0.02
    assert {row['variant']: row['verdict'] for row in made.summary()['variants']}['less'] == 'worse'
    for name, line in {
        'report.md': rf'\| less \| {MINUS}0.040. \| {MINUS}0.04.. \| {MINUS}0.03.. \| worse \|',
        'table.tex': r'less & \$-\$0.040. & \$-\$0.04.. & \$-\$0.03.. & worse \\\\',
        'index.html': rf'>less</td>\s*(<td class="number">{MINUS}0.0...</td>\s*){{3}}<td class="number">worse',
    }.items():
        assert re.search(line, files[name]), name
    assert r'a\_b\&c & ' in files['table.tex']
    begun = re.findall(r'^\\begin\{tabular\}\{', files['table.tex'], re.MULTILINE)
    assert len(begun) == files['table.tex'].count(r'\bottomrule') == 2  # results and differences


@pytest.mark.long
def test_a_matrix_takes_each_sweeps_comparison(tmp_path):
    write(tmp_path / 'one')
    write(tmp_path / 'two', PrimaryComparison('loss', 'plain', 0.05))
    write(tmp_path / 'three', PrimaryComparison())
    found = matrix(tmp_path, StudyQuestion())
    assert {task: each.metric for task, each in found.comparisons.items()} == {
        'one': 'accuracy',
        'two': 'loss',
        'three': 'accuracy',
    }
    cells = {(cell['task'], cell['variant']): cell['verdict'] for cell in found.records()}
    assert (cells['one', 'less'], cells['two', 'less'], cells['three', 'less']) == ('worse', 'not worse', None)


def test_a_sweep_without_a_primary_comparison_still_reads(tmp_path):
    """As its record was written before there were any."""
    write(tmp_path)
    stored = json.loads((tmp_path / 'sweep.json').read_text())
    assert stored.pop('primary') == {'metric': 'accuracy', 'baseline': 'plain', 'margin': 0.02}
    (tmp_path / 'sweep.json').write_text(json.dumps(stored))
    assert read_sweep(tmp_path).primary == PrimaryComparison()


@pytest.mark.parametrize('primary', [3, {'margin': -1}, {'margin': 'x'}, {'metric': 2}, {'other': 1}])
def test_a_damaged_primary_comparison_is_one_line(tmp_path, primary):
    write(tmp_path)
    stored = json.loads((tmp_path / 'sweep.json').read_text())
    (tmp_path / 'sweep.json').write_text(json.dumps({**stored, 'primary': primary}))
    with pytest.raises(UserError, match=r'sweep\.json: not the record of a sweep'):
        read_sweep(tmp_path)


def test_a_metric_that_no_run_logs_is_said_to_be_the_sweeps(tmp_path):
    write(tmp_path, PrimaryComparison('accuracy_of_words'))
    with pytest.raises(UserError, match=r"^the sweep's metric, accuracy_of_words: no run logs it for validation"):
        compare(read_study(tmp_path), StudyQuestion())


def slack(expected, studies):
    return 4 * math.sqrt(expected * (1 - expected) / studies)


@pytest.mark.long
@pytest.mark.parametrize('noise', ['normal', 'heavy (t 3)'])
@pytest.mark.parametrize('variants', [2, 5])
def test_bounds_at_five_seeds_hold_in_95_of_100_studies(noise, variants):
    found = bound_coverage(Case(noise, variants, 5), STUDIES, np.random.default_rng(1))
    for share in (*found.paired, *found.constant):
        assert 0.95 - slack(0.95, STUDIES) <= share <= 0.97 + slack(0.97, STUDIES)


@pytest.mark.long
@pytest.mark.parametrize(
    ('noise', 'least', 'most'), [('skewed (gamma 2)', 0.89, 0.98), ('skewed (exponential)', 0.85, 0.99)]
)
def test_bounds_at_five_seeds_of_skewed_noise_hold_as_often_as_stated(noise, least, most):
    """Differences of two skewed variants are symmetric; with a constant baseline they have the skew of the noise."""
    found = bound_coverage(Case(noise, 5, 5), STUDIES, np.random.default_rng(2))
    for share in found.paired:
        assert 0.94 - slack(0.94, STUDIES) <= share <= 0.97 + slack(0.97, STUDIES)
    lower, upper = found.constant
    assert 0.97 - slack(0.97, STUDIES) <= lower <= most + slack(most, STUDIES)
    assert least - slack(least, STUDIES) <= upper <= 0.92
