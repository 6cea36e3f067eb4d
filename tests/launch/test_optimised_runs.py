# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Runs compiled as users compile them, with all of XLA's optimisations, which all other tests turn off to be faster."""

import signal
from dataclasses import replace

import pytest
from watched import assert_same, kill_after, losses

pytestmark = pytest.mark.long


@pytest.fixture(scope='module')
def optimised(runner):
    return replace(runner, environment={**runner.environment, 'XLA_FLAGS': ''})


@pytest.fixture(scope='module')
def whole(optimised, tmp_path_factory):
    """The folder of one finished small run."""
    workdir = tmp_path_factory.mktemp('optimised') / 'run'
    done = optimised.train(workdir)
    assert done.returncode == 0, done.stderr
    return workdir


def test_it_is_another_program_than_that_of_the_tests(finished, whole):
    assert losses(whole) != losses(finished)
    assert_same(losses(whole), losses(finished))


def test_a_killed_run_resumes_to_bit_identical_losses(optimised, whole, tmp_path):
    kill_after(optimised, tmp_path / 'run', 8, signal.SIGKILL)
    done = optimised.train(tmp_path / 'run')
    assert done.returncode == 0, done.stderr
    assert losses(tmp_path / 'run') == losses(whole)


@pytest.mark.parametrize(
    'overrides',
    [
        ('--config.mesh.data=2', '--config.mesh.fsdp=2', '--config.mesh.tensor=2'),
        ('--config.backend=pmap',),
    ],
)
def test_eight_devices_give_the_losses_of_one(optimised, whole, tmp_path, overrides):
    done = optimised.train(tmp_path / 'run', *overrides, devices=8)
    assert done.returncode == 0, done.stderr
    assert_same(losses(tmp_path / 'run'), losses(whole))


def test_a_checkpoint_of_eight_devices_goes_on_with_one(optimised, whole, tmp_path):
    mesh = ('--config.mesh.data=2', '--config.mesh.fsdp=2', '--config.mesh.tensor=2')
    stopped = kill_after(optimised, tmp_path / 'run', 5, signal.SIGTERM, *mesh, devices=8)
    assert stopped.returncode == 0, stopped.stderr
    done = optimised.train(tmp_path / 'run')
    assert done.returncode == 0, done.stderr
    assert_same(losses(tmp_path / 'run'), losses(whole))
