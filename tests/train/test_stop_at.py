# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A run ends when its task is solved: where, what it leaves behind, how it resumes, and bad targets."""

import signal
from dataclasses import replace
from pathlib import Path

import pytest

from saccade.progress import InterruptedWorkError
from saccade.train import loop
from saccade.train.config import load_config
from saccade.train.declared import targets
from saccade.train.experiment import Experiment
from saccade.train.log.log import read, solved_step
from saccade.train.loop import Options, Run, train
from saccade.train.setup import program_key, require_ranking
from saccade.train.trained import open_run
from saccade.types import UserError

ROOT = Path(__file__).parents[2]
PARITY = str(ROOT / 'experiments/diagnostics/parity.py')
SMALL = ('model.width=16', 'batch_size=8', 'data.train=64', 'data.validation=32', 'eval_lengths=[]', 'log_every=7')
STEPS = ('steps=24', 'eval_every=4', 'checkpoint_every=6', 'schedule.peak=0.01')
QUIET = Options(quiet=True)
ENDED = 12  # step of the evaluation whose loss is the target


def config(*fields):
    return load_config(PARITY, [f'--config.{field}' for field in (*SMALL, *STEPS, *fields)])


def evaluations(folder, split='validation'):
    return {record['step']: record for record in read(folder / 'metrics.jsonl') if record['split'] == split}


def outcomes(folder):
    return [record for record in read(folder / 'metrics.jsonl') if record['split'] == 'outcome']


def numbers(folder):
    """The log without speeds."""
    records = read(folder / 'metrics.jsonl')
    return [{name: value for name, value in record.items() if name != 'tokens_per_second'} for record in records]


@pytest.fixture(scope='module', params=['ema=0.0', 'ema=0.5'])
def whole(request, tmp_path_factory):
    """A run of all steps, its fields, and a target that it first reaches at the step ENDED."""
    folder = tmp_path_factory.mktemp('whole') / 'run'
    train(config(request.param), str(folder), QUIET)
    losses = {step: record['loss'] for step, record in evaluations(folder).items()}
    target = losses[ENDED]
    assert all(loss > target for step, loss in losses.items() if step < ENDED)
    return folder, request.param, f"stop_at={{'loss': {target!r}}}"


@pytest.mark.long
def test_a_run_ends_at_the_evaluation_that_reaches_the_target(whole, tmp_path):
    folder, ema, target = whole
    found = train(config(ema, target), str(tmp_path), QUIET)
    assert found['step'] == ENDED
    assert evaluations(tmp_path) == {step: line for step, line in evaluations(folder).items() if step <= ENDED}
    assert outcomes(tmp_path) == [{'step': ENDED, 'split': 'outcome', 'solved': 1}]
    assert outcomes(folder) == []
    assert max(record['step'] for record in read(tmp_path / 'metrics.jsonl') if record['split'] == 'train') == ENDED
    for which in ('latest', 'best'):
        assert open_run(str(tmp_path), which).step == ENDED


@pytest.mark.long
def test_the_same_command_on_a_solved_run_trains_no_more(whole, tmp_path):
    _, ema, target = whole
    found = train(config(ema, target), str(tmp_path), QUIET)
    before = (tmp_path / 'metrics.jsonl').read_bytes()
    assert train(config(ema, target), str(tmp_path), QUIET) == found
    assert (tmp_path / 'metrics.jsonl').read_bytes() == before


@pytest.mark.long
@pytest.mark.parametrize('last', ['outcome', 'validation'])
def test_a_run_that_is_killed_while_it_ends_goes_on_to_the_same_end(whole, tmp_path, monkeypatch, last):
    """Before a line of the last evaluation is logged, or before its outcome."""
    _, ema, target = whole
    train(config(ema, target), str(tmp_path / 'one'), QUIET)
    write = loop.Log.write

    def killed(self, step, split, metrics):
        if (step, split) == (ENDED, last):
            raise KeyboardInterrupt
        write(self, step, split, metrics)

    with monkeypatch.context() as patched:
        patched.setattr(loop.Log, 'write', killed)
        with pytest.raises(KeyboardInterrupt):
            train(config(ema, target), str(tmp_path / 'two'), QUIET)
    assert train(config(ema, target), str(tmp_path / 'two'), QUIET)['step'] == ENDED
    assert evaluations(tmp_path / 'two') == evaluations(tmp_path / 'one')
    assert {record['solved'] for record in outcomes(tmp_path / 'two')} == {1}
    assert solved_step(read(tmp_path / 'two/metrics.jsonl')) == ENDED


@pytest.mark.long
@pytest.mark.parametrize('at', [8, ENDED])
def test_a_run_that_is_stopped_in_an_evaluation_solves_at_the_same_step(whole, tmp_path, monkeypatch, at):
    _, ema, target = whole
    train(config(ema, target), str(tmp_path / 'one'), QUIET)
    measure, measured = Run.measure, []

    def stopped(self, state, prepared, step, limit=0):
        measured.append(step)
        if step == at and measured.count(at) == 1:
            signal.raise_signal(signal.SIGTERM)
            raise InterruptedWorkError
        return measure(self, state, prepared, step, limit)

    with monkeypatch.context() as patched:
        patched.setattr(Run, 'measure', stopped)
        assert train(config(ema, target), str(tmp_path / 'two'), QUIET) == {}
        train(config(ema, target), str(tmp_path / 'two'), QUIET)
    assert numbers(tmp_path / 'two') == numbers(tmp_path / 'one')


@pytest.mark.long
def test_a_run_that_does_not_reach_it_is_recorded_as_not_solved(tmp_path):
    found = train(config("stop_at={'loss': 1e-9, 'accuracy': 0.0}"), str(tmp_path), QUIET)
    assert found['step'] == 24
    assert outcomes(tmp_path) == [{'step': 24, 'split': 'outcome', 'solved': 0}]
    assert solved_step(read(tmp_path / 'metrics.jsonl')) is None


@pytest.mark.long
def test_a_target_that_only_a_part_of_the_split_reaches_does_not_end_a_run(tmp_path, monkeypatch):
    measure, asked = Run.measure, []

    def part_is_easy(self, state, prepared, step, limit=0):
        asked.append((step, limit))
        found = measure(self, state, prepared, step, limit)
        solved = limit > 0 or step >= 12
        return replace(found, metrics={**found.metrics, 'accuracy': 1.0 if solved else 0.5})

    monkeypatch.setattr(Run, 'measure', part_is_easy)
    found = train(config("stop_at={'accuracy': 0.99}", 'eval_batches=1'), str(tmp_path), QUIET)
    assert (found['step'], found['accuracy']) == (12, 1.0)
    assert asked == [(4, 1), (4, 0), (8, 1), (8, 0), (12, 1), (12, 0), (12, 0), (12, 1)]
    assert [*evaluations(tmp_path)] == [12]
    assert [*evaluations(tmp_path, 'validation_part')] == [4, 8, 12]


@pytest.mark.long
def test_a_target_that_the_data_lack_ends_a_run_in_a_line(tmp_path, monkeypatch):
    """As bits per byte of data that declare them, of a split whose bytes are unknown."""
    measure = Run.measure

    def without_accuracy(*asked):
        found = measure(*asked)
        return replace(found, metrics={name: value for name, value in found.metrics.items() if name != 'accuracy'})

    monkeypatch.setattr(Run, 'measure', without_accuracy)
    with pytest.raises(
        UserError, match=r"^config\.stop_at: an evaluation of these data has no 'accuracy'; it has .*loss"
    ):
        train(config("stop_at={'accuracy': 0.99}"), str(tmp_path), QUIET)


@pytest.mark.parametrize(
    ('fields', 'words'),
    [
        (
            {'acuracy': 0.9},
            "config.stop_at: 'acuracy': no part of the config declares this metric; did you mean 'accuracy'",
        ),
        ({'accuracy': 99}, "config.stop_at: 'accuracy' is between 0 and 1, so it cannot be 99"),
        ({'loss': -1.0}, "config.stop_at: 'loss' is between 0 and inf, so it cannot be -1"),
        (
            {'learning_rate': 0.1},
            "config.stop_at: 'learning_rate' cannot end a run: neither its lowest nor its highest",
        ),
        ({'tokens_per_second': 9.0}, "config.stop_at: no evaluation logs 'tokens_per_second'"),
    ],
)
def test_a_target_that_cannot_be_reached_is_refused(fields, words):
    with pytest.raises(UserError) as refused:
        require_ranking(Experiment.of(config(f'stop_at={fields!r}')))
    assert str(refused.value).startswith(words)
    assert '\n' not in str(refused.value)


def test_a_target_over_a_part_of_a_split_that_its_metric_needs_whole_is_refused():
    fields = ("stop_at={'mrr': 0.8}", 'eval_batches=2', 'keep_best_by=loss')
    file = str(ROOT / 'experiments/pairs/sentence_bert.py')
    made = Experiment.of(load_config(file, [f'--config.{field}' for field in fields]))
    with pytest.raises(UserError, match=r"^config\.stop_at: 'mrr' depends on all rows .*: set eval_batches=0$"):
        targets(made)


def test_a_target_is_no_part_of_a_program():
    one, other = (Experiment.of(config(*field)) for field in ((), ("stop_at={'accuracy': 0.9}",)))
    assert program_key(one) == program_key(other)
    assert [*targets(other).values()] == [0.9]
