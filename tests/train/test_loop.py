# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What a run refuses before its first step, and how it watches the others."""

import weakref
from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest

from saccade.train.backend import JitBackend
from saccade.train.checkpoint import Checkpoints
from saccade.train.loop import Run
from saccade.train.meter import IN_FLIGHT, Meter
from saccade.train.plan import RunPlan
from saccade.train.workdir import Workdir
from saccade.types import UserError


class Done(JitBackend):
    """Steps of a model with two leaves, done as soon as they are taken."""

    def __init__(self):
        self.learner = self.rows_like = self.train_step = self.devices = self.traced = None
        self.shards, self.reads = 1, (0, 1)
        self.like = SimpleNamespace(params={'down': jnp.zeros(2), 'up': jnp.zeros(2)})


@pytest.fixture
def meter():
    return Meter(RunPlan('', '', {}, 1, 1, 8, 0, 0, None, [], [], []), Done())


def metrics(loss=1.0, down=1.0, up=1.0):
    return {'loss': jnp.float32(loss), 'squares': jnp.array([down, up])}


@pytest.mark.parametrize(
    ('spoilt', 'where'),
    [
        ({'loss': np.nan}, 'the loss'),
        ({'up': np.inf}, 'the gradient of up'),
        ({'down': np.nan, 'up': np.nan}, 'the gradient of down'),
    ],
)
def test_what_is_not_finite_ends_a_run_that_is_never_read(meter, spoilt, where):
    for step in range(1, 5 + IN_FLIGHT):
        meter.add(step, metrics(**(spoilt if step == 5 else {})), 1.0)
    with pytest.raises(UserError, match=f'step 5: {where} is not finite'):
        meter.add(5 + IN_FLIGHT, metrics(), 1.0)


def test_what_is_not_finite_is_no_error_where_the_optimizer_skips_it(meter):
    for step in range(1, 2 * IN_FLIGHT):
        meter.add(step, metrics(loss=np.nan) | {'skipped_steps': jnp.int32(step)}, 1.0)
    assert meter.read()['skipped_steps'] == step


def test_a_run_that_is_never_read_keeps_the_metrics_of_few_steps(meter):
    kept = []
    for step in range(20):
        given = metrics()
        kept.append(weakref.ref(given['squares']))
        meter.add(step, given, 1.0)
    del given
    assert sum(each() is not None for each in kept) == IN_FLIGHT


def test_what_is_read_is_of_the_newest_step(meter):
    for step in range(6):
        meter.add(step, metrics(loss=step), 0.5)
    read = meter.read()
    assert read.keys() - {'mfu'} == {'loss', 'tokens_per_second'}
    assert read['loss'] == 5
    assert meter.check() == {}


@pytest.fixture
def run(tmp_path):
    """A run of which only the folder is there."""
    run = object.__new__(Run)
    run.workdir, run.experiment = Workdir(tmp_path), SimpleNamespace(checkpoint_every=10)
    run.display = SimpleNamespace(say=lambda text: (tmp_path / 'printed').write_text(text))
    return run


def refuse_to_erase(run, logged):
    """See whether a run may begin whose log is at a step."""
    run.workdir.metrics.write_text(f'{{"step": {logged}, "split": "train"}}\n')
    with Checkpoints(run.workdir.checkpoints) as checkpoints:
        run.refuse_to_erase(checkpoints)


@pytest.mark.parametrize(('logged', 'every'), [(0, 10), (9, 10), (20, 10), (900, 0)])
def test_a_run_that_ended_before_a_checkpoint_begins_again(run, logged, every):
    run.experiment.checkpoint_every = every
    refuse_to_erase(run, logged)
    said = f'start       from step 0 again: the run ended at step {logged}, before a checkpoint'
    assert [path.read_text() for path in run.workdir.path.glob('printed')] == [said] * bool(logged)


@pytest.mark.parametrize(('logged', 'there'), [(21, None), (9, '5'), (0, 'damaged/5'), (9, 'superseded/5.2')])
def test_a_run_that_has_lost_its_checkpoints_does_not_erase_its_log(run, logged, there):
    if there:
        (run.workdir.checkpoints / there).mkdir(parents=True)
    words = rf'^{run.workdir.path}: no checkpoint can be used, though the run had reached step {logged}: .* --restart'
    with pytest.raises(UserError, match=words):
        refuse_to_erase(run, logged)
