# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Runs with Hyperball that skip steps: killed and resumed, and on eight devices."""

import signal

import pytest
from watched import assert_same, kill_after, losses

from saccade.train.log.log import read

pytestmark = pytest.mark.long

RECIPE = (
    "--config.optimizer.rule={'use': 'train.hyperball:hyperball', 'rule': {'use': 'optax:scale_by_adam'}}",
    # So narrow that some of these few steps are skipped.
    "--config.optimizer.skip={'use': 'train.leaps:SkipLeaps', 'window': 4, 'deviations': 0.5}",
)


@pytest.fixture(scope='module')
def whole(runner, tmp_path_factory):
    workdir = tmp_path_factory.mktemp('recipe') / 'run'
    done = runner.train(workdir, *RECIPE)
    assert done.returncode == 0, done.stderr
    return workdir


def skipped(workdir):
    return [record['skipped_steps'] for record in read(workdir / 'metrics.jsonl') if 'skipped_steps' in record]


def test_a_killed_run_resumes_to_bit_identical_losses_and_skips_the_same_steps(runner, whole, tmp_path):
    assert skipped(whole)[0] == 0
    assert 0 < skipped(whole)[-1] < len(skipped(whole))
    kill_after(runner, tmp_path / 'run', 8, signal.SIGKILL, *RECIPE)
    done = runner.train(tmp_path / 'run', *RECIPE)
    assert done.returncode == 0, done.stderr
    assert losses(tmp_path / 'run') == losses(whole)
    assert skipped(tmp_path / 'run') == skipped(whole)


@pytest.mark.parametrize(
    'overrides',
    [
        ('--config.mesh.data=2', '--config.mesh.fsdp=2', '--config.mesh.tensor=2'),
        ('--config.backend=pmap',),
    ],
)
def test_eight_devices_give_the_losses_of_one_and_skip_the_same_steps(runner, whole, tmp_path, overrides):
    done = runner.train(tmp_path / 'run', *RECIPE, *overrides, devices=8)
    assert done.returncode == 0, done.stderr
    assert_same(losses(tmp_path / 'run'), losses(whole))
    assert skipped(tmp_path / 'run') == skipped(whole)
