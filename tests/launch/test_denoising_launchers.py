# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""From training in several modes to gaps that are filled and texts that are continued, from the command line."""

import json
from pathlib import Path

import pytest
from refused import assert_refused

CONFIG = Path(__file__).parents[2] / 'experiments/denoising/ul2.py'
DENOISERS = (
    "[{'use': 'ops.denoising:Spans', 'rate': 0.15, 'mean': 3.0, 'mode': '[R]'},"
    " {'use': 'ops.denoising:Sequential', 'mode': '[S]'},"
    " {'use': 'ops.denoising:Spans', 'rate': 0.5, 'mean': 8.0, 'mode': '[X]'}]"
)
SMALL = (
    f'task.denoisers={DENOISERS}', 'data.context_length=24', 'model.decoder.vocabulary=400', 'model.decoder.width=16',
    'model.decoder.layers=1', 'batch_size=8', 'steps=2', 'eval_every=0', 'checkpoint_every=0', 'log_every=1',
    'sample.text=the [MASK] of',
)  # fmt: skip


@pytest.fixture(scope='module')
def denoised(runner, tmp_path_factory):
    """The folder of a run, and what it printed."""
    workdir = tmp_path_factory.mktemp('denoised') / 'run'
    arguments = [f'--config.{each}' for each in (*SMALL, f'data.path={runner.text}')]
    done = runner.run('train', f'--config={CONFIG}', f'--workdir={workdir}', *arguments)
    assert done.returncode == 0, done.stderr
    return workdir, done.stdout


@pytest.mark.long
def test_a_run_shows_its_modes_and_how_to_use_it(denoised):
    _, printed = denoised
    assert all(f'loss_{mode}' in printed.replace('loss ', 'loss_') for mode in 'RSX')
    assert 'the [' in printed
    assert 'launch/fill_mask.py' in printed


@pytest.mark.long
def test_gaps_are_filled_in_a_mode(runner, denoised):
    done = runner.run('fill_mask', f'--workdir={denoised[0]}', '--mode=[R]', '--text=the [MASK] of [MASK]', '--json')
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found['spans']) == 2
    assert '[MASK]' not in found['text']


@pytest.mark.long
def test_a_text_is_continued_in_another_and_a_mode_that_there_is_not_is_one_line(runner, denoised):
    done = runner.run('translate', f'--workdir={denoised[0]}', '--mode=[S]', '--text=the', '--json')
    assert done.returncode == 0, done.stderr
    assert set(json.loads(done.stdout)) == {'source', 'text'}
    done = runner.run('translate', f'--workdir={denoised[0]}', '--mode=[Q]', '--text=the')
    assert (done.returncode, done.stdout) == (2, '')
    assert done.stderr.startswith("error: the tokenizer has no special token '[Q]'")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.long
def test_choices_and_turns_are_of_a_masked_language_model(runner, denoised):
    done = runner.run('fill_mask', f'--workdir={denoised[0]}', '--text=the [MASK]', '--top=2', '--turns=2')
    assert_refused(done, '--top and --turns have no effect on a sequence-to-sequence model')
