# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A mixture compiled for a TPU slice: each chip has its own experts, and sends rows of routes there and back."""

import importlib.util
import re
from pathlib import Path

import pytest

from saccade.analysis.preflight.chips import Chips
from saccade.analysis.preflight.collectives import collectives
from saccade.analysis.preflight.preflight import spread
from saccade.train.config import load_config
from saccade.train.experiment import Experiment

CONFIG = Path(__file__).parents[2] / 'experiments/causal_lm/mixtral_tiny.py'
WIDTH, EXPERTS, ACTIVE, TOKENS, ROWS = 128, 8, 2, 64, 16

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(importlib.util.find_spec('libtpu') is None, reason='libtpu is not installed'),
]


@pytest.fixture(scope='module')
def chips():
    with pytest.MonkeyPatch.context() as changed:
        changed.delenv('XLA_FLAGS', raising=False)  # put back after it: flags of the CPU, of which libtpu knows nothing
        yield Chips.of_slice('v5e:2x4')


@pytest.mark.parametrize('mesh', [{'expert': 8}, {'fsdp': 2, 'expert': 2, 'tensor': 2}])
def test_each_chip_sends_rows_of_its_routes_there_and_back(chips, mesh):
    flags = [f'model.context_length={TOKENS}', f'batch_size={ROWS}', 'model.layers=1', 'dtype=bfloat16']
    config = load_config(str(CONFIG), [f'--config.{flag}' for flag in flags])
    step = spread(Experiment.of({**config, 'mesh': mesh}), chips)
    text = step.train_step(step.batches[0]).compile().as_text()
    sent = {each.kind: each.bytes for each in collectives(text)}
    n, devices = mesh['expert'], 8 // mesh.get('tensor', 1)
    routes = ROWS * TOKENS * ACTIVE // devices
    assert sent['all-to-all'] == pytest.approx(4 * 1.25 * routes * WIDTH * 2 * (n - 1) / n, rel=0.01)
    assert not re.search(rf'\[(1,)?{EXPERTS},({WIDTH},{WIDTH * 3 // 2}|{WIDTH * 3 // 2},{WIDTH})\]', text)
