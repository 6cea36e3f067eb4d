# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Compute and wall-clock multipliers over a baseline: known ones are found, and nothing is extrapolated."""

import csv
import io
import json
import math

import numpy as np
import pytest
from report_study import config, write_run
from scipy import stats

from benchmarks.multiplier_coverage import Case, coverage
from saccade.analysis.report import page, tables
from saccade.analysis.report.compare import StudyQuestion, compare
from saccade.analysis.report.multiplier import Course, log_ratio, multipliers, picture, times
from saccade.analysis.report.runs import read_study
from saccade.types import UserError

STUDIES = 300
STEPS = 40
QUICKER = {'plain': 1.0, 'quick': 2.0, 'slow': 0.5}  # than plain, in FLOPs
SECONDS = {'plain': 1.0, 'quick': 4.0, 'slow': 1.0}  # of a step


def write(folder, seeds=5, evaluations=20, quicker=QUICKER, noise=0.0):
    """Runs whose loss falls linearly in the logarithm of FLOPs, so that interpolation is exact."""
    generator = np.random.default_rng(0)
    for heads, (name, times_quicker) in enumerate(quicker.items(), start=1):
        for seed in range(seeds):
            scale = times_quicker * math.exp(noise * generator.standard_normal() + 0.1 * seed)
            logged = [{'step': 0, 'split': 'plan', 'parameters': heads, 'flops': 100, 'tokens': 8}]
            for step in range(STEPS // evaluations, STEPS + 1, STEPS // evaluations):
                loss = 10 - math.log(scale * step)
                logged.append({'step': step, 'split': 'train', 'loss': loss, 'tokens_per_second': 8 / SECONDS[name]})
                logged.append({'step': step, 'split': 'validation', 'loss': loss, 'accuracy': -loss})
            write_run(folder / f'{name}{seed}', config(seed, heads, note=name), logged)
    return folder


def found(folder, over='plain', **question):
    comparison = compare(read_study(folder), StudyQuestion(over=named(over), **question))
    result = multipliers(comparison)
    return {row.variant.rpartition('=')[2]: kinds for row, kinds in result.rows}


def named(note):
    return f'heads={[*QUICKER].index(note) + 1},note={note}'


@pytest.mark.long
def test_known_multipliers_are_found_whichever_end_is_best(tmp_path):
    write(tmp_path, noise=1e-9)
    for metric in ('loss', 'accuracy'):
        quick, slow = (found(tmp_path, metric=metric)[name] for name in ('quick', 'slow'))
        assert quick['compute'].mean == pytest.approx(2.0)
        assert slow['compute'].mean == pytest.approx(0.5)
        assert quick['wall-clock'].mean == pytest.approx(2.0 / 4.0)
        assert slow['wall-clock'].mean == pytest.approx(0.5)
        assert quick['compute'].interval.holds(2.0)


def test_the_one_over_the_other_is_the_other_over_the_one_inverted(tmp_path):
    write(tmp_path, noise=0.3)
    over = found(tmp_path)['quick']['compute']
    under = found(tmp_path, over='quick')['plain']['compute']
    assert under.mean == pytest.approx(1 / over.mean)
    assert (under.interval.low, under.interval.high) == pytest.approx((1 / over.interval.high, 1 / over.interval.low))


def test_the_interval_is_students_t_of_the_log_ratios_of_seeds(tmp_path):
    write(tmp_path, noise=0.3)
    compute = found(tmp_path)['slow']['compute']
    logs = [*compute.logs.values()]
    low, high = stats.t.interval(0.95, 4, loc=np.mean(logs), scale=stats.sem(logs))
    assert len(logs) == 5
    assert (compute.interval.low, compute.interval.high) == pytest.approx((math.exp(low), math.exp(high)))
    assert compute.mean == pytest.approx(math.exp(np.mean(logs)))


def test_under_five_seeds_there_is_no_interval_and_it_says_so(tmp_path):
    write(tmp_path, seeds=4, noise=0.3)
    compute = found(tmp_path)['quick']['compute']
    assert compute.interval is None
    assert compute.mean == pytest.approx(2.0, rel=0.5)
    assert compute.note() == '4 seeds; an interval needs 5'


def course(*metric, cost=None):
    return Course(np.array(cost or range(1, len(metric) + 1), np.float64), np.array(metric, np.float64))


def test_the_level_is_the_worse_final_value_and_is_reached_first_where_a_curve_crosses_it():
    # The baseline passes 2 between costs 2 and 4, half of the way; that it is worse later does not matter.
    baseline, variant = course(3, 3, 1, 2.5, 1.5, cost=[1, 2, 4, 5, 6]), course(4, 3, 2)
    assert log_ratio(variant, baseline) == pytest.approx(math.log(math.sqrt(2 * 4) / 3))


def test_a_run_that_comes_back_from_a_loss_that_is_not_finite_reaches_the_level_at_an_evaluation():
    for lost in (math.inf, math.nan):
        assert course(lost, 3, 2.5, 2).cost_to_reach(3.0) == 2
        assert course(5, lost, 2.5, 2).cost_to_reach(3.0) == 3


def test_nothing_is_said_where_the_level_was_reached_before_the_first_evaluation():
    assert log_ratio(course(2, 2, 2), course(1, 0.5, 0.2)) is None
    assert log_ratio(course(3, 2, 1), course(3, 3, 3)) is None


def test_seeds_without_a_multiplier_leave_no_interval_and_it_says_why(tmp_path):
    write(tmp_path, seeds=6, noise=0.1)
    run = tmp_path / 'quick2/metrics.jsonl'
    records = [json.loads(line) for line in run.read_text().splitlines()]
    flat = [record | ({'loss': 9.5} if record['split'] == 'validation' else {}) for record in records]
    run.write_text(''.join(json.dumps(record) + '\n' for record in flat))
    compute = found(tmp_path)['quick']['compute']
    assert [*compute.logs] == [0, 1, 3, 4, 5]
    assert compute.interval is None
    assert compute.note() == '1 of 6 seeds: reached before the first evaluation'


def test_runs_without_costs_have_no_multipliers(tmp_path):
    write(tmp_path)
    for file in tmp_path.glob('*/metrics.jsonl'):
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        file.write_text(''.join(json.dumps(line) + '\n' for line in lines if line['split'] == 'validation'))
    assert found(tmp_path) == {'quick': {}, 'slow': {}}


def test_without_a_baseline_there_are_none_and_an_unknown_one_is_refused_in_a_line(tmp_path):
    write(tmp_path)
    assert multipliers(compare(read_study(tmp_path), StudyQuestion())) is None
    with pytest.raises(
        UserError, match=r'^--baseline=heads=1,note=plane: .*did you mean .heads=1,note=plain'
    ) as refused:
        compare(read_study(tmp_path), StudyQuestion(over='heads=1,note=plane'))
    assert '\n' not in str(refused.value)


def test_every_file_of_the_report_has_them(tmp_path):
    write(tmp_path, noise=0.1)
    comparison = compare(read_study(tmp_path), StudyQuestion(over=named('plain')))
    quick = found(tmp_path)['quick']['compute']
    assert f'| {quick.text()} |'.replace('[', r'\[').replace(']', r'\]') in '\n'.join(page._over(comparison))
    rows = [*csv.DictReader(io.StringIO(page.runs_csv(comparison)))]
    values = {row['run']: row['compute_multiplier'] for row in rows}
    assert float(values['quick3']) == pytest.approx(math.exp(quick.logs[3]))
    assert values['plain3'] == ''
    summary = json.loads(tables.as_json(tables.summary(comparison)))['multipliers']
    assert summary['over'] == named('plain')
    assert summary['variants'][named('quick')]['compute']['interval'][0] == pytest.approx(quick.interval.low)
    svg = picture(multipliers(comparison)).svg
    assert 'times cheaper than heads=1,note=plain' in svg


def test_a_multiplier_is_written_in_three_digits():
    assert [times(value) for value in (0.0412, 0.5, 1.318, 1234.5)] == ['0.0412', '0.500', '1.32', '1,234']


def test_the_interval_holds_a_simulated_multiplier_in_95_of_100_studies():
    """Of normal noise; slack is four standard errors of a share."""
    found = coverage(Case('normal', 1.5, 5), STUDIES, np.random.default_rng(0))
    assert found.interval == pytest.approx(0.95, abs=4 * math.sqrt(0.95 * 0.05 / STUDIES))
    assert abs(found.bias) < 0.05
    assert found.percentile < 0.9
