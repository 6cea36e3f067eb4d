# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Verdicts on published claims: by the interval, the margin, and the runs that are there."""

from datetime import datetime
from pathlib import Path

import pytest
from report_study import write_task

from saccade.analysis.report.compare import StudyQuestion
from saccade.analysis.report.interval import Interval, difference_intervals
from saccade.analysis.report.matrix import matrix
from saccade.analysis.report.replications import replications, summary, verdict_of, verdict_rows
from saccade.analysis.report.standing import standing_page
from saccade.build import load_target
from saccade.sweep.plan import read_sweep_file
from saccade.sweep.sizes import size_of
from saccade.sweep.suite import Suite
from saccade.train.config import load_config
from saccade.types import UserError

GOOD, BAD = [0.9, 0.91, 0.93, 0.9, 0.92], [0.5, 0.52, 0.49, 0.5, 0.51]


def suite_of(folder, **tasks):
    """Write a suite of claims on the accuracy of `good` and `bad`, unless they say otherwise."""
    usual = dict(
        says='good beats bad', source='https://arxiv.org/abs/1', better='good', worse=['bad'], metric='accuracy'
    )
    spec = {
        name: dict(config='base.py', sweep='mixers.py', claim={**usual, 'margin': 0.1, **claim})
        for name, claim in tasks.items()
    }
    file = folder / 'claims.py'
    file.write_text(f'"""Claims."""\n\n\ndef get_suite():\n    return {spec!r}\n')
    return Suite.of(str(file))


def decided(tmp_path, accuracies, **claim):
    suite = suite_of(tmp_path, it=claim)
    write_task(tmp_path / 'runs/it', accuracies, 0.25)
    return replications(suite, matrix(tmp_path / 'runs', StudyQuestion()))[0]


@pytest.mark.parametrize(
    ('low', 'high', 'margin', 'verdict'),
    [
        (0.11, 0.3, 0.1, 'confirmed'),
        (0.1, 0.3, 0.1, 'inconclusive'),
        (0.01, 0.3, 0.1, 'inconclusive'),
        (-0.2, 0.0, 0.1, 'inconclusive'),
        (-0.2, -0.01, 0.1, 'contradicted'),
        # The claim is that a loss is below 0.02.
        (-0.01, 0.3, -0.02, 'confirmed'),
        (-0.03, -0.01, -0.02, 'inconclusive'),
        (-0.05, -0.03, -0.02, 'contradicted'),
    ],
)
def test_a_verdict_is_the_place_of_the_interval(low, high, margin, verdict):
    assert verdict_of(Interval(low, high), margin) == verdict


@pytest.mark.parametrize(
    ('accuracies', 'claim', 'verdict'),
    [
        ({'good': GOOD, 'bad': BAD}, {}, 'confirmed'),
        ({'good': BAD, 'bad': GOOD}, {}, 'contradicted'),
        ({'good': GOOD, 'bad': BAD}, {'margin': 0.41}, 'inconclusive'),
        ({'good': GOOD, 'bad': BAD}, {'metric': 'loss'}, 'confirmed'),  # lower is better, so the sign turns
        ({'good': BAD, 'bad': GOOD}, {'metric': 'loss'}, 'contradicted'),
        ({'good': GOOD, 'bad': [value + 0.01 for value in GOOD]}, {'margin': -0.02}, 'confirmed'),
        ({'good': 5 * [0.9], 'bad': 5 * [0.5]}, {}, 'confirmed'),  # no spread: the interval is the difference
        ({'good': GOOD, 'bad': BAD, 'near': GOOD}, {'worse': ['bad', 'near']}, 'inconclusive'),
        ({'good': BAD, 'bad': [0.1] * 5, 'near': GOOD}, {'worse': ['bad', 'near']}, 'contradicted'),
    ],
)
def test_a_claim_is_decided_by_its_contrasts(accuracies, claim, verdict, tmp_path):
    assert decided(tmp_path, accuracies, **claim).verdict == verdict


def test_the_difference_and_its_interval_are_those_of_reports(tmp_path):
    (contrast,) = decided(tmp_path, {'good': GOOD, 'bad': BAD}).contrasts
    scores = [dict(enumerate(each)) for each in (BAD, GOOD)]
    assert contrast.bounds == difference_intervals(scores, best=0)[1]
    assert contrast.mean == pytest.approx(0.408)
    assert contrast.name == 'good minus bad'


def test_a_claim_about_a_change_subtracts_the_other_split(tmp_path):
    suite = suite_of(tmp_path, it={'splits': ['validation_64'], 'since': 'validation', 'margin': 0.2})
    write_task(tmp_path / 'runs/it', {'good': GOOD, 'bad': BAD}, 0.25, {'good': 0.9, 'bad': 0.5})
    (found,) = replications(suite, matrix(tmp_path / 'runs', StudyQuestion()))
    assert found.verdict == 'inconclusive'  # by the metric itself it is confirmed: 0.4 on either split
    (contrast,) = found.contrasts
    assert contrast.name == 'good minus bad, validation 64'
    assert contrast.mean == pytest.approx((0.9 - 0.912) - (0.5 - 0.504))


def test_a_change_that_lacks_seeds_gives_no_verdict(tmp_path):
    suite = suite_of(tmp_path, it={'since': 'validation_64', 'margin': -0.5})
    write_task(tmp_path / 'runs/it', {'good': GOOD, 'bad': BAD}, 0.25, {'good': 0.8, 'bad': 0.4})
    assert replications(suite, matrix(tmp_path / 'runs', StudyQuestion()))[0].verdict == 'confirmed'
    for file in (tmp_path / f'runs/it/0,seed={seed}/metrics.jsonl' for seed in (0, 2, 3)):
        file.write_text(file.read_text().replace('"accuracy": 0.8}', '"accuracy": NaN}'))
    (found,) = replications(suite, matrix(tmp_path / 'runs', StudyQuestion()))
    assert (found.verdict, found.contrasts[0].note) == ('inconclusive', 'not finite on validation_64: good')


@pytest.mark.parametrize(
    ('accuracies', 'note'),
    [
        ({'good': GOOD[:4], 'bad': BAD[:4]}, '4 seeds; a verdict needs 5'),
        ({'good': GOOD, 'bad': BAD[:4]}, 'incomplete: bad (4 of 5 seeds)'),
    ],
)
def test_missing_seeds_give_no_verdict(accuracies, note, tmp_path):
    found = decided(tmp_path, accuracies)
    assert found.verdict == 'inconclusive'
    assert found.contrasts[0].note == note


def test_a_claim_whose_sweep_has_not_run_is_listed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sweep = "runs=dict(list=[{'name': 'good'}, {'name': 'bad'}])"
    Path('mixers.py').write_text(f'"""Mixers."""\n\n\ndef get_sweep():\n    return dict({sweep})\n')
    suite = suite_of(tmp_path, it={}, later={})
    write_task(tmp_path / 'runs/it', {'good': GOOD, 'bad': BAD}, 0.25)
    found = matrix(tmp_path / 'runs', StudyQuestion())
    both = replications(suite, found)
    assert [each.verdict for each in both] == ['confirmed', 'not run']
    assert summary(both) == '2 published claims: 1 confirmed, 1 not run.'
    assert [row[0] for row in verdict_rows(both)] == ['claim', 'it', 'later']
    page = standing_page(found, suite, 'python launch/suite.py', datetime(2026, 11, 28), both)
    assert '| it | good beats bad (https://arxiv.org/abs/1) | confirmed |' in page.replace('\\', '')
    assert '| later | good minus bad | — |' in page
    assert '| variant |' not in page


def test_a_claim_whose_runs_have_not_ended_is_not_run_yet(tmp_path):
    write_task(tmp_path / 'runs/it', {'good': GOOD, 'bad': BAD}, 0.25)
    for file in (tmp_path / 'runs/it').glob('*/metrics.jsonl'):  # other splits are evaluated at the end
        file.write_text(file.read_text().replace('"step": 40', '"step": 20'))
    suite = suite_of(tmp_path, it={'splits': ['validation', 'validation_64']})
    (found,) = replications(suite, matrix(tmp_path / 'runs', StudyQuestion()))
    assert (found.verdict, found.contrasts) == ('not run', [])


def test_a_variant_that_the_sweep_lacks_is_named(tmp_path):
    with pytest.raises(UserError, match='it: the claim names best, but the sweep has good, bad'):
        decided(tmp_path, {'good': GOOD, 'bad': BAD}, better='best')


@pytest.mark.parametrize('claim', [{'colour': 'red'}, None, 'good'])
def test_what_is_no_claim_is_refused_in_a_line(claim, tmp_path):
    file = tmp_path / 'claims.py'
    given = {'says': 'x', **claim} if isinstance(claim, dict) else claim or 3
    spec = {'it': dict(config='a.py', sweep='b.py', claim=given)}
    file.write_text(f'def get_suite():\n    return {spec!r}\n')
    with pytest.raises(UserError) as refused:
        Suite.of(str(file))
    assert 'it: a claim is a dict of says, source, better, worse, metric, margin' in str(refused.value)


def test_the_shipped_claims_name_variants_and_metrics_of_their_sweeps():
    """Without a run: the names are read from the sweep files."""
    root = Path(__file__).parents[2]
    suite = Suite.of(str(root / 'experiments/suites/replications.py'))
    assert len(suite.tasks) >= 12
    for task in suite.tasks:
        _, spec = read_sweep_file(str(root / task.sweep))
        spec = size_of(spec, task.size).applied(spec) if task.size else spec
        names = {point['name'] for point in spec['runs']['list']}
        assert {task.claim.better, *task.claim.worse} <= names, task.name
        assert spec['metric'] == task.claim.metric, task.name
        # A run logs its task's own loss under that name only where parts add losses.
        task_of_config = load_target(load_config(str(root / task.config))['task']['use'])
        assert spec['metric'] != getattr(task_of_config, 'bare', None), task.name
        assert spec['seeds'] == 5
