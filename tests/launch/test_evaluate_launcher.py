# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Evaluation from the command line."""

import json
import math
from pathlib import Path

import pytest
from refused import assert_refused

from saccade.train.log.log import read

SAME_NUMBERS = 1e-6
ROOT = Path(__file__).parents[2]


def of_split(workdir, split):
    """The last record of a split."""
    return [record for record in read(workdir / 'metrics.jsonl') if record['split'] == split][-1]


@pytest.mark.long
def test_a_run_is_evaluated_over_the_whole_split_as_at_its_end(runner, finished):
    done = runner.run('evaluate', f'--workdir={finished}', '--json', '--windows=16')
    assert done.returncode == 0, done.stderr
    found, logged = json.loads(done.stdout), of_split(finished, 'validation')
    assert found['step'] == logged['step'] == 20
    assert found['loss'] == pytest.approx(logged['loss'], rel=SAME_NUMBERS)
    assert found['perplexity'] == pytest.approx(math.exp(logged['loss']), rel=SAME_NUMBERS)
    assert found['bits_per_byte'] == pytest.approx(logged['bits_per_byte'], rel=SAME_NUMBERS)
    assert found['baseline']['bits_per_byte'] == pytest.approx(
        of_split(finished, 'baseline')['bits_per_byte'], rel=SAME_NUMBERS
    )
    assert found['estimate'] == pytest.approx(found['loss'], rel=0.2)


@pytest.mark.long
def test_the_average_of_a_schedule_free_run_is_of_what_it_evaluates(runner, tmp_path):
    free = (
        '--config.schedule_free=0.9',
        '--config.optimizer.rule.b1=0.0',
        '--config.keep_last=1',
        '--config.keep_best=0',
    )
    done = runner.train(tmp_path, *free, '--config.schedule.use=train.schedule:Constant', '--config.steps=4')
    assert done.returncode == 0, done.stderr
    found = [
        json.loads(runner.run('evaluate', f'--workdir={tmp_path}', f'--checkpoint={which}', '--json').stdout)['loss']
        for which in ('latest', 'average')
    ]
    assert found[1] == pytest.approx(found[0], rel=SAME_NUMBERS)


@pytest.mark.long
def test_a_split_that_a_baseline_is_fitted_to_is_not_compared_with_it(runner, finished):
    done = runner.run('evaluate', f'--workdir={finished}', '--json', '--split=train')
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)['baseline'] is None


def start_of(runner, init_from, *more):
    """The arguments that evaluate the weights that the small run would start from."""
    config, _, *rest = runner.small('')
    return ['evaluate', config, f'--config.init_from={init_from}', *rest, *more]


@pytest.mark.long
def test_the_weights_that_an_experiment_starts_from_are_evaluated_as_they_are(runner, finished):
    done = runner.run(*start_of(runner, finished, '--json'))
    assert done.returncode == 0, done.stderr
    found, logged = json.loads(done.stdout), of_split(finished, 'validation')
    assert (found['step'], found['baseline']) == (0, None)
    assert found['loss'] == pytest.approx(logged['loss'], rel=SAME_NUMBERS)
    whole = json.loads(runner.run(*start_of(runner, finished, '--json', '--config.data.validation=1')).stdout)
    assert whole['targets'] > 9 * found['targets']


@pytest.mark.long
def test_weights_that_would_be_random_are_not_evaluated(runner, encoder, tmp_path):
    records = tmp_path / 'records.csv'
    records.write_text('sentence,label\n' + ''.join(f'the word {number},{number % 2}\n' for number in range(40)))
    config, short = f'--config={ROOT}/experiments/finetune/classify.py', ['--config.data.context_length=16']
    done = runner.run('evaluate', config, f'--config.init_from={encoder}', f'--config.data.path={records}', *short)
    assert_refused(done, 'pooled_head/output_bias, which would be random')


@pytest.mark.long
def test_another_file_is_evaluated_as_a_whole_and_the_run_s_own_in_its_part(runner, finished, tmp_path):
    other, link = tmp_path / 'other.txt', tmp_path / 'same.txt'
    other.write_text(runner.text.read_text().replace('attention', 'text'))
    link.symlink_to(runner.text)
    own = of_split(finished, 'validation')
    found = {}
    for name, path in (('other', other), ('same', link)):
        done = runner.run('evaluate', f'--workdir={finished}', '--json', f'--config.data.path={path}')
        assert done.returncode == 0, done.stderr
        found[name] = json.loads(done.stdout)
    assert found['same']['loss'] == pytest.approx(own['loss'], rel=SAME_NUMBERS)
    assert found['other']['targets'] > 9 * found['same']['targets']
    done = runner.run(
        'evaluate', f'--workdir={finished}', '--json', f'--config.data.path={other}', '--config.data.validation=0.1'
    )
    assert json.loads(done.stdout)['targets'] < found['other']['targets'] / 9


@pytest.mark.long
def test_a_run_or_an_experiment_is_evaluated(runner, finished):
    config = f'--config={ROOT}/experiments/causal_lm/quickstart.py'
    assert_refused(runner.run('evaluate'), 'give --workdir=FOLDER, the folder of a run, or --config=FILE with')
    assert_refused(runner.run('evaluate', config, f'--workdir={finished}'), 'give --workdir=FOLDER')
    assert_refused(runner.run('evaluate', config), 'give --config.init_from=DIR, the weights to evaluate')
    assert_refused(runner.run('evaluate', config, '--windows=8'), '--checkpoint and --windows are for runs')


@pytest.mark.long
def test_other_lengths_are_measured_at_the_end_of_training_as_by_hand(runner, tmp_path):
    done = runner.train(tmp_path, '--config.eval_lengths=(8, 32)', '--config.steps=4', '--config.eval_batches=0')
    assert done.returncode == 0, done.stderr
    longer, shorter = (of_split(tmp_path, f'validation_{length}') for length in (32, 8))
    done = runner.run('evaluate', f'--workdir={tmp_path}', '--json', '--length=32')
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)['loss'] == pytest.approx(longer['loss'], rel=SAME_NUMBERS)
    losses = {longer['loss'], shorter['loss'], of_split(tmp_path, 'validation')['loss']}
    assert len(losses) == 3


@pytest.mark.long
def test_a_length_that_the_model_cannot_serve_is_refused_before_training(runner, tmp_path):
    position = "{'use': 'position.learned:Learned', 'length': 16}"
    done = runner.train(tmp_path / 'run', '--config.eval_lengths=(32,)', f'--config.model.position={position}')
    assert done.returncode == 2
    assert 'config.eval_lengths: 32 tokens: a sequence of 32 tokens is longer than the 16 learned' in done.stderr
    assert done.stderr.count('\n') == 1
    assert not (tmp_path / 'run').exists()


@pytest.mark.long
def test_a_folder_that_is_no_run_is_refused(runner, tmp_path):
    (tmp_path / 'letter.txt').write_text('Dear reader')
    absent = tmp_path / 'absent\nerror: \x1b[2J'
    for folder, words in ((absent, 'no such folder'), (tmp_path, 'not a Saccade run')):
        done = runner.run('evaluate', f'--workdir={folder}')
        assert done.returncode == 2
        assert words in done.stderr
        assert done.stderr.count('\n') == 1
        assert '\x1b' not in done.stderr


@pytest.mark.long
def test_random_windows_of_data_without_a_stream_are_refused_in_one_line(runner, encoder):
    done = runner.run('evaluate', f'--workdir={encoder}', '--windows=8')
    assert_refused(done, 'windows: need a stream of tokens, but these data are separate examples')
