# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A run that trains low-rank updates of another's weights: it resumes, and is opened as any other."""

import shutil

import jax
import numpy as np
import pytest

from saccade.train.checkpoint import Checkpoints
from saccade.train.config import load_config
from saccade.train.evaluate import EvaluationOptions, evaluate_run
from saccade.train.experiment import Experiment
from saccade.train.initial import run_param_shapes
from saccade.train.log.log import read
from saccade.train.loop import train
from saccade.train.start import start_from
from saccade.train.trained import open_run, open_trained

LORA = "--config.low_rank={'use': 'train.low_rank:LowRank', 'rank': 2, 'alpha': 4.0}"
SHORT = ('--config.steps=4', '--config.checkpoint_every=2', '--config.schedule.warmup=1', '--config.eval_every=0')
RELATIVE = 1e-5


@pytest.fixture(scope='module')
def tuned(runner, finished, tmp_path_factory):
    """The config and the folder of a run that starts from a finished one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('SACCADE_CACHE', runner.environment['SACCADE_CACHE'])
        workdir = tmp_path_factory.mktemp('runs') / 'tuned'
        config, _, *rest = runner.small(workdir)
        overrides = (*rest, *SHORT, f'--config.init_from={finished}', LORA)
        config = load_config(config.removeprefix('--config='), overrides)
        train(config, str(workdir))
        yield config, workdir


def kept(workdir):
    """What the run keeps, unmerged."""
    shapes = run_param_shapes(Experiment.of(open_run(str(workdir)).config))
    with Checkpoints(workdir / 'checkpoints') as checkpoints:
        return checkpoints.restore_part('params', shapes).state


def assert_same(one, other):
    jax.tree.map(np.testing.assert_array_equal, one, other)


def losses(workdir):
    return {(line['step'], line['split']): line['loss'] for line in read(workdir / 'metrics.jsonl') if 'loss' in line}


@pytest.mark.long
def test_it_resumes_bit_for_bit(tuned, tmp_path):
    config, workdir = tuned
    resumed = tmp_path / 'run'
    shutil.copytree(workdir, resumed)
    shutil.rmtree(resumed / 'checkpoints/4')
    train(config, str(resumed))
    assert losses(resumed) == losses(workdir)
    assert_same(kept(resumed), kept(workdir))


@pytest.mark.long
def test_the_weights_it_started_from_are_as_they_were(tuned, finished):
    _, workdir = tuned
    own = {name: tree for name, tree in kept(workdir).items() if name != 'low_rank'}
    assert_same(own, open_run(str(finished)).params)


@pytest.mark.long
def test_it_is_evaluated_as_its_last_step_was_with_the_weights_that_opening_it_gives(tuned, finished):
    _, workdir = tuned
    before, after = open_run(str(finished)).params, open_trained(init_from=str(workdir)).params
    assert jax.tree.map(np.shape, after) == jax.tree.map(np.shape, before)
    mixers = [params['layers']['pattern_0']['mixer'] for params in (before, after)]
    assert all((mixers[0][name] != mixers[1][name]).any() for name in ('query', 'key', 'value', 'output'))
    found = evaluate_run(str(workdir), EvaluationOptions()).metrics['loss']
    assert found == pytest.approx(losses(workdir)[4, 'validation'], rel=RELATIVE)


@pytest.mark.long
def test_another_run_starts_from_its_merged_weights(tuned):
    _, workdir = tuned
    params = open_run(str(workdir)).params
    begun = start_from((str(workdir), ''), jax.tree.map(np.zeros_like, params), {})
    assert_same(begun.params, params)
    assert begun.new == begun.left == []


@pytest.mark.long
@pytest.mark.parametrize(
    'devices', [('--config.mesh.data=2', '--config.mesh.fsdp=2', '--config.mesh.tensor=2'), ('--config.backend=pmap',)]
)
def test_eight_devices_give_the_losses_of_one(runner, finished, tuned, tmp_path, devices):
    done = runner.train(tmp_path / 'run', *SHORT, f'--config.init_from={finished}', LORA, *devices, devices=8)
    assert done.returncode == 0, done.stderr
    assert losses(tmp_path / 'run') == pytest.approx(losses(tuned[1]), rel=RELATIVE)
