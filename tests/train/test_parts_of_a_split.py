# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Evaluations of the first batches during training are logged and compared apart from those of the whole split."""

from pathlib import Path

import pytest

from saccade.analysis.report.compare import StudyQuestion, compare
from saccade.analysis.report.multiplier import courses
from saccade.analysis.report.runs import read_study
from saccade.train.config import load_config
from saccade.train.log.log import is_finished, read
from saccade.train.loop import Options, train
from saccade.train.seal import read_seal

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
PARITY = str(ROOT / 'experiments/diagnostics/parity.py')
SMALL = ('model.width=16', 'batch_size=8', 'data.train=64', 'data.validation=32', 'eval_lengths=[64]')
STEPS = ('steps=12', 'eval_every=4', 'checkpoint_every=4', 'keep_best=3', 'keep_best_by=loss', 'schedule.warmup=2')


def trained(folder, *fields):
    config = load_config(PARITY, [f'--config.{field}' for field in (*SMALL, *STEPS, *fields)])
    train(config, str(folder), Options(quiet=True))
    return folder


@pytest.fixture(scope='module')
def runs(tmp_path_factory):
    """A run that evaluates one of four batches during training, and one that evaluates all."""
    folder = tmp_path_factory.mktemp('runs')
    return trained(folder / 'part', 'eval_batches=1'), trained(folder / 'whole', 'eval_batches=4')


def found(folder, split, metric='loss'):
    return {record['step']: record[metric] for record in read(folder / 'metrics.jsonl') if record['split'] == split}


def test_the_part_has_its_own_split_at_every_evaluation_and_the_whole_split_is_at_the_end(runs):
    part, whole = runs
    assert [*found(part, 'validation_part')] == [4, 8, 12]
    assert [*found(part, 'validation')] == [12]
    assert [record['split'] for record in read(part / 'metrics.jsonl')[-2:]] == ['validation_part', 'validation']
    assert found(part, 'validation')[12] == found(whole, 'validation')[12] != found(part, 'validation_part')[12]


def test_batches_that_cover_the_split_are_the_whole_split(runs):
    _, whole = runs
    assert [*found(whole, 'validation')] == [4, 8, 12]
    assert not found(whole, 'validation_part')


def test_other_lengths_are_evaluated_on_their_whole_split(runs):
    part, whole = runs
    assert found(part, 'validation_64') == found(whole, 'validation_64')


def test_checkpoints_are_ranked_by_the_same_rows(runs):
    for folder, split in zip(runs, ('validation_part', 'validation'), strict=True):
        ranked = {step: read_seal(folder / 'checkpoints' / str(step)).metrics['loss'] for step in (4, 8, 12)}
        assert ranked == found(folder, split)


def test_learning_curves_and_equal_compute_compare_the_same_rows(runs):
    part, _ = runs
    comparison = compare(read_study(part.parent), StudyQuestion(metric='loss'))
    for folder, split in zip(runs, ('validation_part', 'validation'), strict=True):
        (row,) = (row for row in comparison.ranked if row.trials[0].folder == folder)
        assert comparison.value(row.trials[0]) == found(part, 'validation')[12]
        (course,) = courses(comparison, row, 'steps')[0]
        assert course.metric.tolist() == [*found(folder, split).values()]


def test_the_part_at_the_last_step_does_not_show_the_end_of_a_run():
    record = {'step': 12, 'split': 'validation_part', 'loss': 1.0}
    assert not is_finished([record], 12)
    assert is_finished([record, {**record, 'split': 'validation'}], 12)
