# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Activations and interventions in packed and padded rows, and on eight devices: those of each text alone, on one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.inside.activations import Inside
from saccade.inside.interventions import Change, edits_of
from saccade.types import LayerContext

pytestmark = pytest.mark.long

T, D, N, V, L = 9, 16, 4, 11, 2
NEAR = 1e-5  # of the largest
TOKENS = np.random.default_rng(0).integers(0, V, T)
MULTI_HEAD = {
    'use': 'attention.multi_head:MultiHead', 'heads': N, 'key_value_heads': 2, 'mask': {'use': 'ops.mask:Causal'},
    'position': {'use': 'position.rotary:Rotary'},
}  # fmt: skip
RANKS = {f'{name}_rank': 4 for name in ('decay', 'rate', 'gate')}
MIXERS = {
    'plain': MULTI_HEAD | {'kernel': {'use': 'attention.plain:Plain'}},
    'blockwise': MULTI_HEAD | {'kernel': {'use': 'attention.blockwise:Blockwise', 'query_block': 4, 'key_block': 4}},
    'linear': MULTI_HEAD | {'kernel': {'use': 'attention.linear:Linear', 'chunk': 4}},
    'gated linear': {'use': 'attention.gated_linear:GatedLinear', 'heads': N, 'chunk': 4},
    'delta rule': {'use': 'attention.delta:Delta', 'heads': N, 'chunk': 4},
    'Mamba-2': {'use': 'attention.mamba2:Mamba2', 'heads': N, 'chunk': 4},
    'RWKV-7': {'use': 'attention.rwkv7:RWKV7', 'heads': N, 'chunk': 4, **RANKS},
    'LSTM': {'use': 'recurrent.mixer.recurrent:Recurrent', 'cell': {'use': 'recurrent.cell.lstm:LSTM', 'width': 12}},
}
ROWS = {'packed': [1] * 4 + [2] * 5, 'padded': [1] * 6 + [0] * 3, 'padded first': [0] * 3 + [1] * 6}


def decoder(mixer):
    block = {'use': 'block.pre_norm:PreNorm', 'mixer': mixer}
    return build({
        'use': 'model.decoder:Decoder', 'context_length': T, 'width': D, 'layers': L, 'vocabulary': V, 'block': block,
        'run': {'use': 'model.stack:Scanned'},
    })()  # fmt: skip


def drawn(model, *arguments):
    shapes = jax.eval_shape(lambda: model.init(jax.random.key(0), *arguments))['params']
    random = np.random.default_rng(1)
    return jax.tree.map(lambda leaf: jnp.array(random.normal(size=leaf.shape, scale=0.4), leaf.dtype), shapes)


def given(tokens, segments):
    """A row, whose positions count from 0 in each text."""
    parts = np.split(segments, np.flatnonzero(np.diff(segments)) + 1)
    positions = np.concatenate([np.arange(len(part)) for part in parts])
    return jnp.array(tokens)[None], LayerContext(jnp.array(positions)[None], jnp.array(segments)[None])


def alone(tokens):
    return given(tokens, np.ones(len(tokens), int))


def texts(segments):
    return [slice(at[0], at[-1] + 1) for number in (1, 2) if len(at := np.flatnonzero(np.array(segments) == number))]


def near(given, expected, name=''):
    scale = NEAR * max(1, np.abs(expected).max(initial=0))
    np.testing.assert_allclose(given, expected, rtol=0, atol=scale, err_msg=name)


@pytest.fixture(scope='module', params=MIXERS)
def model(request):
    made = decoder(MIXERS[request.param])
    return made, drawn(made, *alone(TOKENS))


@pytest.mark.parametrize('row', ROWS)
def test_activations_are_those_of_each_text_alone(model, row):
    segments = np.array(ROWS[row])
    inside = Inside(*model, given(TOKENS, segments))
    logits, found = inside.run('*')
    for text in texts(segments):
        by_itself, expected = Inside(*model, alone(TOKENS[text])).run('*')
        near(logits[:, text], by_itself)
        for name, place in found.places.items():
            if {'T', 'S'} & {*place.axes.split()}:
                at = tuple(text if letter in ('T', 'S') else slice(None) for letter in place.axes.split())
                near(found[name][at], expected[name], name)
    apart = (segments[:, None] != segments) & (segments[:, None] > 0)
    for name in found:
        if name.endswith('.pattern'):
            assert np.abs(found[name][0][:, apart]).max() == 0, name


@pytest.mark.parametrize('row', ROWS)
def test_changes_are_those_of_each_text_alone(model, row):
    segments = np.array(ROWS[row])
    inside = Inside(*model, given(TOKENS, segments))
    direction = np.linspace(-1, 1, D)
    changes = {'layers.1.residual_before': Change(direction, add=True), 'layers.0.mixer_output': 0.0}
    changes |= {name: Change(0.1, add=True) for name in inside.places if name.endswith(('value', 'forget_gate'))}
    logits, _ = inside.run((), edits_of(inside.places, changes))
    for text in texts(segments):
        one = Inside(*model, alone(TOKENS[text]))
        near(logits[:, text], one.run((), edits_of(one.places, changes))[0])


def test_a_change_of_one_text_does_not_reach_the_other(model):
    inside = Inside(*model, given(TOKENS, np.array(ROWS['packed'])))
    before, _ = inside.run()
    names = ['layers.0.residual_before', 'layers.1.mixer_output']
    names += [name for name in inside.places if name.endswith(('value', '.state')) and inside.places[name].editable]
    for name in names:
        change = {name: Change(1.0 + np.zeros(inside.places[name].shape), tokens=range(4))}
        after, _ = inside.run((), edits_of(inside.places, change))
        np.testing.assert_array_equal(after[:, 4:], before[:, 4:], name)
        assert np.abs(after[:, :4] - before[:, :4]).max() > 1e-3, name


@pytest.mark.parametrize('kind', ['plain', 'blockwise', 'Mamba-2', 'LSTM', 'bahdanau'])
def test_on_eight_devices_they_are_those_of_one(kind):
    flags = f'{os.environ["XLA_FLAGS"]} --xla_force_host_platform_device_count=8'
    command = [sys.executable, str(Path(__file__).parent / 'inside_over_devices.py'), kind]
    done = subprocess.run(command, env={**os.environ, 'XLA_FLAGS': flags}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    errors = json.loads(done.stdout)
    assert max(errors.values()) < NEAR, errors
    assert sum('changed' in name for name in errors) >= 3
