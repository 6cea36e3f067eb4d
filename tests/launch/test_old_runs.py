# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Runs of November 2026, of each kind, whose configs have the names that parts had then: they go on as they would have.

Each is stored after 2 of its 4 steps, with a log of all 4.
"""

import json
import shutil
from pathlib import Path

import pytest

EXPERIMENTS = Path(__file__).parents[2] / 'experiments'
OLD = Path(__file__).parent / 'old_runs'
BRIEF = (
    '--config.steps=4',
    '--config.log_every=1',
    '--config.eval_every=0',
    '--config.eval_batches=1',
    '--config.checkpoint_every=2',
    '--config.schedule.warmup=2',
    '--config.batch_size=4',
)
PAIRS = ('--config.data.train=40', '--config.data.validation=8')
RUNS = {
    'decoder': (
        'causal_lm/quickstart.py',
        '--config.data.path=text.txt',
        '--config.model.width=8',
        '--config.model.block.mixer.heads=2',
        '--config.model.layers=2',
        '--config.model.vocabulary=260',
        '--config.data.context_length=16',
        '--config.sample=None',
        '--config.eval_batches=2',
    ),
    'encoder': (
        'masked_lm/quickstart.py',
        '--config.data.path=text.txt',
        '--config.data.context_length=16',
        '--config.model.vocabulary=100',
        '--config.model.width=8',
        '--config.model.layers=2',
        '--config.model.block.mixer.heads=2',
        "--config.data.pairing={'use': 'data.encoder.pairing:OnePassage'}",
        # As it had them then.
        "--config.model.block.feedforward.activation={'use': 'jax.nn:gelu', 'approximate': False}",
        "--config.model.heads.masked.activation={'use': 'jax.nn:gelu', 'approximate': False}",
    ),
    'encoder_decoder': (
        'translation/dates.py',
        *PAIRS,
        '--config.model.decoder.width=8',
        '--config.model.decoder.block.mixer.heads=2',
        '--config.model.decoder.layers=1',
    ),
    'recurrent': ('translation/dates_recurrent.py', *PAIRS, '--config.model.**.width=8'),
    'classifier': (
        'finetune/classify.py',
        '--config.data.path=texts.csv',
        '--config.data.text=text',
        '--config.model.vocabulary=100',
        '--config.model.width=8',
        '--config.model.block.mixer.heads=2',
    ),
}
TOLERANCE = 1e-5  # relative: another processor adds up in another order


def losses(run: Path) -> dict[int, float]:
    records = [json.loads(line) for line in (run / 'metrics.jsonl').read_text().splitlines()]
    return {record['step']: record['loss'] for record in records if record['split'] == 'train'}


@pytest.mark.long
@pytest.mark.parametrize(
    'kind',
    [
        'decoder',
        'recurrent',
        *(pytest.param(kind, marks=pytest.mark.slow) for kind in ('encoder', 'encoder_decoder', 'classifier')),
    ],
)
def test_an_old_run_goes_on(runner, tmp_path, kind):
    run = tmp_path / 'run'
    shutil.unpack_archive(OLD / f'{kind}.zip', run)
    before = losses(run)
    assert sorted(before) == [1, 2, 3, 4]
    for name in ('text.txt', 'texts.csv'):
        shutil.copy(OLD / name, runner.folder)
    config, *overrides = RUNS[kind]
    done = runner.run('train', f'--config={EXPERIMENTS / config}', f'--workdir={run}', *BRIEF, *overrides)
    assert done.returncode == 0, done.stderr
    assert 'resume      from step 2' in done.stdout
    assert losses(run) == pytest.approx(before, rel=TOLERANCE)
    evaluated = runner.run('evaluate', f'--workdir={run}')
    assert evaluated.returncode == 0, evaluated.stderr
