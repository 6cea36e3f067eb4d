# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A run that goes on from an earlier checkpoint, as after a kill, logs what it logged before, whatever it learns."""

import shutil
from pathlib import Path

import pytest

from saccade.train.log.declarations import read_declarations
from saccade.train.log.log import read

EXPERIMENTS = Path(__file__).parents[2] / 'experiments'
BRIEF = (
    '--config.steps=6',
    '--config.log_every=1',
    '--config.eval_every=3',
    '--config.eval_batches=1',
    '--config.checkpoint_every=3',
)
DATES = (
    '--config.data.train=200',
    '--config.data.validation=16',
    '--config.batch_size=8',
    '--config.schedule.warmup=2',
    '--config.model.dropout=0.2',
)
MASKED = (
    "--config.data.pairing={'use': 'data.encoder.pairing:OnePassage'}",
    '--config.data.context_length=16',
    '--config.model.vocabulary=300',
    '--config.model.width=16',
    '--config.batch_size=8',
    '--config.schedule.warmup=2',
)
DENOISED = (
    '--config.data.context_length=24',
    '--config.model.decoder.vocabulary=400',
    '--config.model.decoder.width=16',
    '--config.model.decoder.layers=1',
    '--config.batch_size=8',
    '--config.schedule.warmup=2',
)
ON_TEXT = (MASKED, DENOISED)
RUNS = {
    'denoising/t5.py': DENOISED,
    'denoising/prefix_lm.py': DENOISED,
    'masked_lm/quickstart.py': MASKED,
    'masked_lm/diffusion_tiny.py': MASKED,
    'translation/dates.py': (*DATES[:-1], '--config.data.buckets=(24, 32)'),
    'translation/dates_recurrent.py': DATES,
}


@pytest.mark.long
@pytest.mark.parametrize('name', RUNS)
def test_a_run_that_lost_its_last_checkpoint_takes_the_same_steps_again(runner, tmp_path, name):
    workdir = tmp_path / 'run'
    text = (f'--config.data.path={runner.text}',) if RUNS[name] in ON_TEXT else ()
    command = (f'--config={EXPERIMENTS / name}', f'--workdir={workdir}', *text, *RUNS[name], *BRIEF)
    first = runner.run('train', *command)
    assert first.returncode == 0, first.stderr
    wanted = steps(workdir)
    assert list(wanted) == [1, 2, 3, 4, 5, 6]
    logged = {name for line in read(workdir / 'metrics.jsonl') for name in line} - {'step', 'split'}
    assert logged <= read_declarations(workdir / 'declared_metrics.json').metrics.keys()
    shutil.rmtree(workdir / 'checkpoints/6')
    again = runner.run('train', *command)
    assert 'resume' in again.stdout, again.stderr
    assert steps(workdir) == wanted


def steps(workdir: Path) -> dict[int, tuple[float, float]]:
    """The loss and the norm of the gradient of each step."""
    lines = [line for line in read(workdir / 'metrics.jsonl') if line['split'] == 'train']
    return {line['step']: (line['loss'], line['gradient_norm']) for line in lines}
