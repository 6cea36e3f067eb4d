# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Runs with Hyperball, schedule-free, that skip steps: killed and resumed, accumulated, and on eight devices."""

import json
import signal

import pytest
from watched import assert_same, kill_after, losses

from saccade.train.log.log import read

pytestmark = pytest.mark.long

RECIPE = (
    "--config.optimizer.rule={'use': 'train.hyperball:hyperball', 'rule': {'use': 'optax:scale_by_adam'}}",
    '--config.schedule_free=0.9',
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


def test_microbatches_give_the_losses_of_whole_batches(runner, whole, tmp_path):
    done = runner.train(tmp_path / 'run', *RECIPE, '--config.accumulate=2')
    assert done.returncode == 0, done.stderr
    assert_same(losses(tmp_path / 'run'), losses(whole))


def test_the_average_is_evaluated_and_is_a_start_for_another_run(runner, whole, tmp_path):
    last = next(record for record in reversed(read(whole / 'metrics.jsonl')) if record.get('split') == 'validation')
    done = runner.run('evaluate', f'--workdir={whole}', '--json')
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)['loss'] == pytest.approx(last['loss'], rel=1e-6)
    done = runner.train(tmp_path / 'run', *RECIPE, f'--config.init_from={whole}')
    assert done.returncode == 0, done.stderr


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
