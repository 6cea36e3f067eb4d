# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A run that starts from another whose attention has more key/value heads."""

import pytest

from saccade.train.config import load_config
from saccade.train.log.log import read
from saccade.train.loop import train
from saccade.types import UserError

MULTI_QUERY = (
    '--config.model.block.mixer={"use": "attention.multi_head:MultiHead", "heads": 2, "key_value_heads": 1, '
    '"kernel": {"use": "attention.plain:Plain"}, "mask": {"use": "ops.mask:Causal"}, '
    '"position": {"use": "position.rotary:Rotary"}}'
)
SHORT = ('--config.steps=1', '--config.schedule.warmup=0', '--config.baseline=None', '--config.sample=None')
GROUPED = "--config.adapt={'use': 'train.init.upcycle:grouped'}"


@pytest.fixture
def first_loss(runner, tmp_path, monkeypatch):
    """A function of overrides: the loss of the first batch."""
    monkeypatch.setenv('SACCADE_CACHE', runner.environment['SACCADE_CACHE'])

    def run(*overrides):
        workdir = tmp_path / str(len(overrides))
        config, _, *rest = runner.small(workdir)
        overrides = (*rest, MULTI_QUERY, *SHORT, *overrides)
        train(load_config(config.removeprefix('--config='), overrides), str(workdir))
        return next(line['loss'] for line in read(workdir / 'metrics.jsonl') if line['split'] == 'train')

    return run


@pytest.mark.long
def test_it_starts_below_a_run_from_scratch_and_only_where_it_is_asked_for(first_loss, finished):
    scratch = first_loss()
    with pytest.raises(UserError, match=r'mixer/key is \(2, 32, 2, 16\) in it, \(2, 32, 1, 16\) in this model'):
        first_loss(f'--config.init_from={finished}')
    assert first_loss(f'--config.init_from={finished}', GROUPED) < scratch - 1.0
