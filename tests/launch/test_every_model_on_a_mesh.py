# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Eight devices along data, fsdp, sequence, expert and tensor give the losses of one, whatever the model."""

import json
import os
from pathlib import Path

import forked
import pytest

ROOT = Path(__file__).parents[2]
MESH = {'data': 2, 'fsdp': 2, 'tensor': 2}
SAME_NUMBERS = 1e-5  # relative difference, of losses that are the same but for the order of sums

NARROW = ('--config.model.width=32', '--config.model.vocabulary=304', '--config.data.context_length=16')
BOTH = ('--config.model.decoder.vocabulary=400', '--config.model.decoder.width=16', '--config.data.context_length=24')
MASKED = ("--config.data.pairing={'use': 'data.encoder.pairing:OnePassage'}", *NARROW)
DATES = ('--config.data.train=64', '--config.data.validation=16')
RUNS = {
    'causal_lm/quickstart.py': (*NARROW, '--config.model.block.mixer.heads=2'),
    'causal_lm/mixtral_tiny.py': NARROW,
    'causal_lm/deepseek_tiny.py': NARROW,
    'causal_lm/gemma2_tiny.py': NARROW,
    'causal_lm/hybrid.py': NARROW,
    'causal_lm/linear_lm.py': NARROW,
    'denoising/prefix_lm.py': BOTH,
    'denoising/t5.py': BOTH,
    'masked_lm/quickstart.py': MASKED,
    'translation/dates.py': DATES,
    'translation/dates_recurrent.py': DATES,
}


# By what is shown: the experiment, the devices along the sequence, and what is changed. Rows of text are packed.
RING = "--config.model.**.kernel={'use': 'attention.ring:Ring', 'query_block': 3, 'key_block': 3}"
ULYSSES = "--config.model.**.kernel={'use': 'attention.ulysses:Ulysses'}"
QUICKSTART = ('causal_lm/quickstart.py', '--config.model.block.mixer.heads=4', *NARROW)
ODD = '--config.data.context_length=41'  # of which source and target have even numbers of tokens
SEQUENCE = {
    'ring, grouped heads': (8, *QUICKSTART, '--config.model.block.mixer.key_value_heads=2', RING),
    'ring, fsdp, microbatches': ({'fsdp': 2, 'sequence': 4}, *QUICKSTART, '--config.accumulate=2', RING),
    'ring, ALiBi': (2, *QUICKSTART, "--config.model.block.mixer.position={'use': 'position.alibi:ALiBi'}", RING),
    'ring, a window': (4, *QUICKSTART, "--config.model.block.mixer.mask={'use': 'ops.mask:Window', 'left': 3}", RING),
    'ring, chunks of the vocabulary': (4, *QUICKSTART, '--config.task.vocabulary_chunk=3', RING),
    'ring, an encoder': (2, 'masked_lm/quickstart.py', *MASKED, RING),
    'ring, an encoder with a decoder, T5 bias': (2, 'denoising/t5.py', *BOTH, ODD, RING),
    'ulysses': (2, *QUICKSTART, ULYSSES),
    'ulysses, an encoder with a decoder, T5 bias': (2, 'denoising/t5.py', *BOTH, ODD, ULYSSES),
    'plain': (8, *QUICKSTART),
    'blockwise': (2, *QUICKSTART, "--config.model.**.kernel={'use': 'attention.blockwise:Blockwise'}"),
    'experts': (2, 'causal_lm/mixtral_tiny.py', *NARROW),
    'layers with a state': (4, 'causal_lm/hybrid.py', *NARROW),
    'no stack of layers': (2, 'translation/dates_recurrent.py', *DATES),
}


ROUTER = '--config.model.block.feedforward.router'
GELU = {'use': 'feedforward.mlp:MLP', 'activation': {'use': 'jax.nn:gelu'}}
CHOOSING = {'use': 'feedforward.mixture:Mixture', 'experts': 8, 'active': 2, 'expert': GELU}
CHOOSING |= {'router': {'use': 'feedforward.expert_choice:ExpertChoice'}}
ENCODER = ('masked_lm/quickstart.py', f'--config.model.block.feedforward={CHOOSING}', *MASKED)
MICROBATCHES = (f'{ROUTER}.capacity=1.0', '--config.accumulate=2', '--config.batch_size=16')
ALL, WITH_TENSOR, WITH_FSDP = {'expert': 8}, {'data': 2, 'expert': 2, 'tensor': 2}, {'fsdp': 2, 'expert': 4}
EXPERT = {
    'token choice': (ALL, 'causal_lm/mixtral_tiny.py', *NARROW),
    'token choice, tensor': (WITH_TENSOR, 'causal_lm/mixtral_tiny.py', *NARROW),
    'capacity, microbatches': (WITH_FSDP, 'causal_lm/mixtral_tiny.py', *NARROW, *MICROBATCHES),
    'loss-free, shared expert': (ALL, 'causal_lm/deepseek_tiny.py', *NARROW),
    'loss-free, tensor': (WITH_TENSOR, 'causal_lm/deepseek_tiny.py', *NARROW),
    'expert choice, padding': (WITH_FSDP, *ENCODER),
    'gated shared expert': (WITH_FSDP, 'causal_lm/qwen3_next_tiny.py', *NARROW),
    'dense and mixture layers': (WITH_TENSOR, 'causal_lm/kimi_linear_tiny.py', *NARROW),
}


@pytest.mark.long
@pytest.mark.parametrize('shown', SEQUENCE)
def test_a_sequence_axis_gives_the_losses_of_one_device(runner, tmp_path, shown):
    devices, name, *overrides = SEQUENCE[shown]
    mesh = (
        devices
        if isinstance(devices, dict)
        else {2: MESH | {'fsdp': 1}, 4: {'data': 2}, 8: {}}[devices] | {'sequence': devices}
    )
    assert_same_losses(runner, tmp_path, name, mesh, overrides)


@pytest.mark.long
@pytest.mark.parametrize('shown', EXPERT)
def test_an_expert_axis_gives_the_losses_of_one_device(runner, tmp_path, shown):
    mesh, name, *overrides = EXPERT[shown]
    assert_same_losses(runner, tmp_path, name, mesh, overrides)


@pytest.mark.long
@pytest.mark.parametrize('name', RUNS)
def test_a_mesh_gives_the_losses_of_one_device(runner, tmp_path, name):
    assert_same_losses(runner, tmp_path, name, MESH, RUNS[name])


def assert_same_losses(runner, tmp_path, name, mesh, overrides):
    flags = f'{os.environ["XLA_FLAGS"]} --xla_force_host_platform_device_count=8'
    on_text = () if name.startswith('translation') else (f'--config.data.path={runner.text}',)
    command = (ROOT / 'tests/launch/meshes.py', ROOT / 'experiments' / name, json.dumps(mesh))
    output = [tmp_path / 'out', tmp_path / 'err']
    arguments = [*map(str, command), *on_text, '--config.batch_size=8', *overrides]
    status = forked.run(arguments, runner.folder, {**runner.environment, 'XLA_FLAGS': flags}, output)
    assert status == 0, output[1].read_text()
    one, spread = json.loads(output[0].read_text())
    assert spread == pytest.approx(one, rel=SAME_NUMBERS)
    assert len(set(one)) == len(one)
