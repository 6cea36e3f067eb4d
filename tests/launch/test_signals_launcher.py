# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Signals to a run in each of its phases: a line at once, nothing lost, and the same results when it goes on."""

import signal
import time

import pytest
from watched import STEPS, losses, wait_for_step

from saccade.train.log.log import read

# A data set that takes minutes to prepare.
SLOW = """
import time
from saccade.data.text.stream import TextData

class Unprepared(TextData):
    def prepare(self, cache, processor=None):
        open('preparing', 'w').close()
        time.sleep(600)
"""


def wait_for(condition, seconds: float = 120) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.long
@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGINT])
def test_before_training_a_signal_is_one_line_and_the_end(runner, tmp_path, number):
    (runner.folder / 'slow_data.py').write_text(SLOW)
    (runner.folder / 'preparing').unlink(missing_ok=True)
    process = runner.start('train', *runner.small(tmp_path / 'run'), '--config.data.use=slow_data:Unprepared')
    try:
        wait_for((runner.folder / 'preparing').exists)
        process.send_signal(number)
        _, err = process.communicate(timeout=20)
    finally:
        process.kill()
    assert process.returncode == 128 + number
    assert err.splitlines()[-1] == f'{number.name}: stopped before training; there was nothing to save'
    assert not (tmp_path / 'run').exists()


@pytest.mark.long
def test_a_run_that_is_stopped_in_its_final_evaluation_is_saved_and_evaluated_by_the_same_command(runner, tmp_path):
    whole = ('--config.eval_every=0', '--config.batch_size=1', '--config.data.validation=0.7')
    undisturbed = runner.train(tmp_path / 'undisturbed', *whole)
    assert undisturbed.returncode == 0, undisturbed.stderr
    process = runner.start('train', *runner.small(tmp_path / 'run'), *whole)
    try:
        wait_for_step(process, tmp_path / 'run/metrics.jsonl', STEPS)
        wait_for((tmp_path / f'run/checkpoints/{STEPS}').exists)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0, err
    assert err.startswith('SIGTERM: stopping after this step or batch; the training state will be saved')
    assert 'stopped by a signal in the final evaluation; saved' in out
    assert not [line for line in read(tmp_path / 'run/metrics.jsonl') if line['split'] == 'validation']
    done = runner.train(tmp_path / 'run', *whole)
    assert done.returncode == 0, done.stderr
    assert losses(tmp_path / 'run') == losses(tmp_path / 'undisturbed')


@pytest.mark.long
def test_an_evaluation_that_a_signal_ended_is_made_when_the_run_goes_on(runner, tmp_path):
    whole = (
        '--config.eval_every=10',
        '--config.eval_batches=0',
        '--config.batch_size=1',
        '--config.data.validation=0.4',
    )
    undisturbed = runner.train(tmp_path / 'undisturbed', *whole)
    assert undisturbed.returncode == 0, undisturbed.stderr
    process = runner.start('train', *runner.small(tmp_path / 'run'), *whole)
    try:
        wait_for_step(process, tmp_path / 'run/metrics.jsonl', 10)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0, err
    assert 'stopped by a signal after step 10; saved' in out
    assert not [line for line in read(tmp_path / 'run/metrics.jsonl') if line['split'] == 'validation']
    done = runner.train(tmp_path / 'run', *whole)
    assert done.returncode == 0, done.stderr
    assert losses(tmp_path / 'run') == losses(tmp_path / 'undisturbed')
