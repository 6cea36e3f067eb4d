# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Pretraining helps: summaries of docstrings after span corruption on the same packages' documentation."""

from dataclasses import replace
from pathlib import Path

import pytest

from saccade.sweep.record import read_sweep
from saccade.train.log.log import read

ROOT = Path(__file__).parents[2]
LEAST = 0.2  # nats per token by which every pretrained model is better than every one from scratch


@pytest.mark.long
def test_summaries_after_pretraining_are_better_than_from_scratch(runner, tmp_path):
    optimised = replace(runner, environment={**runner.environment, 'XLA_FLAGS': ''})
    common = ('--config.batch_size=16', '--config.log_every=50', '--config.eval_every=0', '--config.checkpoint_every=0')
    sizes = ('width=64', 'block.mixer.heads=2', 'layers=2', 'vocabulary=1024')
    trained = optimised.run(
        'train',
        f'--config={ROOT}/experiments/denoising/t5.py',
        f'--workdir={tmp_path / "t5"}',
        *(f'--config.model.encoder.{size}' for size in sizes),
        '--config.data.context_length=64',
        '--config.steps=1000',
        *common,
    )
    assert trained.returncode == 0, trained.stderr
    swept = optimised.run(
        'sweep',
        f'--config={ROOT}/experiments/translation/summarize.py',
        f'--sweep={ROOT}/experiments/sweeps/pretraining.py',
        f'--workdir={tmp_path / "summaries"}',
        f'--config.init_from={tmp_path / "t5"}',
        '--config.inherit=model',
        '--config.data.name=docstrings',
        '--config.data.source=body',
        '--config.data.target=summary',
        '--config.data.source_context_length=64',
        '--config.steps=200',
        '--config.task.metrics=[]',
        *common,
    )
    assert swept.returncode == 0, swept.stderr
    runs = read_sweep(tmp_path / 'summaries').runs
    assert len(runs) == 10
    losses = {run.name: read(tmp_path / 'summaries' / run.name / 'metrics.jsonl')[-1]['loss'] for run in runs}
    pretrained, scratch = (
        [loss for name, loss in losses.items() if name.startswith(variant)] for variant in ('pretrained', 'scratch')
    )
    assert max(pretrained) < min(scratch) - LEAST, losses
