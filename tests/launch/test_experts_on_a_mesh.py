# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Eight devices, some of them along expert, give the losses of one for every architecture that has experts."""

import json
import os
from pathlib import Path

import forked
import pytest

ROOT = Path(__file__).parents[2]
SAME_NUMBERS = 1e-5  # relative difference, of losses that are the same but for the order of sums

NARROW = ('--config.model.width=32', '--config.model.vocabulary=304', '--config.data.context_length=16')
ROUTER = '--config.model.block.feedforward.router'
GELU = {'use': 'feedforward.mlp:MLP', 'activation': {'use': 'jax.nn:gelu'}}
CHOOSING = {'use': 'feedforward.mixture:Mixture', 'experts': 8, 'active': 2, 'expert': GELU}
CHOOSING |= {'router': {'use': 'feedforward.expert_choice:ExpertChoice'}}
ENCODER = (
    f'--config.model.block.feedforward={CHOOSING}',
    "--config.data.pairing={'use': 'data.encoder.pairing:OnePassage'}",
    *NARROW,
)

ALL, WITH_TENSOR, WITH_FSDP = {'expert': 8}, {'data': 2, 'expert': 2, 'tensor': 2}, {'fsdp': 2, 'expert': 4}
RUNS = {
    'token choice': ('causal_lm/mixtral_tiny.py', ALL, NARROW),
    'token choice, tensor': ('causal_lm/mixtral_tiny.py', WITH_TENSOR, NARROW),
    'capacity, microbatches': (
        'causal_lm/mixtral_tiny.py',
        WITH_FSDP,
        (*NARROW, f'{ROUTER}.capacity=1.0', '--config.accumulate=2', '--config.batch_size=16'),
    ),
    'loss-free, shared expert': ('causal_lm/deepseek_tiny.py', ALL, NARROW),
    'loss-free, tensor': ('causal_lm/deepseek_tiny.py', WITH_TENSOR, NARROW),
    'expert choice, padding': ('masked_lm/quickstart.py', WITH_FSDP, ENCODER),
    'gated shared expert': ('causal_lm/qwen3_next_tiny.py', WITH_FSDP, NARROW),
    'dense and mixture layers': ('causal_lm/kimi_linear_tiny.py', WITH_TENSOR, NARROW),
}


@pytest.mark.slow
@pytest.mark.parametrize('name', RUNS)
def test_losses_are_those_of_one_device(runner, tmp_path, name):
    experiment, mesh, overrides = RUNS[name]
    flags = f'{os.environ["XLA_FLAGS"]} --xla_force_host_platform_device_count=8'
    command = (ROOT / 'tests/launch/meshes.py', ROOT / 'experiments' / experiment, json.dumps(mesh))
    arguments = [*map(str, command), f'--config.data.path={runner.text}', '--config.batch_size=8', *overrides]
    output = [tmp_path / 'out', tmp_path / 'err']
    status = forked.run(arguments, runner.folder, {**runner.environment, 'XLA_FLAGS': flags}, output)
    assert status == 0, output[1].read_text()
    one, spread = json.loads(output[0].read_text())
    assert spread == pytest.approx(one, rel=SAME_NUMBERS)
    assert len(set(one)) == len(one)
