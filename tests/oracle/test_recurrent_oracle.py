# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Recurrent layers and convolutions against torch, and channel mixing against `transformers`: outputs and gradients."""

import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.types import LayerContext

torch = pytest.importorskip('torch', reason='the oracle extra is not installed: torch')
with warnings.catch_warnings():
    # What these libraries warn of as they are imported is not ours to mend.
    warnings.simplefilter('ignore')
    from transformers.models.rwkv import modeling_rwkv as rwkv

pytestmark = pytest.mark.oracle

F32_RELATIVE = 1e-5  # of the largest element
B, T, D, WIDTH = 3, 11, 6, 5
LENGTHS = (11, 4, 7)
REAL = np.arange(T) < np.array(LENGTHS)[:, None]
CELLS = {'rnn:RNN': 'RNN', 'lstm:LSTM': 'LSTM'}


def redrawn(module: Any) -> Any:
    torch.manual_seed(0)
    for leaf in module.parameters():
        torch.nn.init.normal_(leaf, std=0.5)
    return module


def array(tensor: Any) -> np.ndarray:
    return tensor.detach().numpy()


def assert_same(spec: dict[str, Any], params: dict[str, Any], theirs: Callable[[Any], Any], padded: bool) -> None:
    """Compare outputs, and gradients by the input, of rows with padding on the right or without."""
    random = np.random.default_rng(0)
    real = REAL if padded else np.ones((B, T), bool)
    x, dy = (random.normal(size=(B, T, D)).astype(np.float32) for _ in range(2))
    dy = dy * real[..., None]
    leaf = torch.tensor(x, requires_grad=True)
    expected = theirs(leaf)
    (torch.tensor(dy) * expected).sum().backward()
    context = LayerContext(jnp.tile(jnp.arange(T), (B, 1)), jnp.asarray(real, jnp.int32) if padded else None)

    def run(x: Any) -> Any:
        y = build(spec)().apply({'params': jax.tree.map(jnp.asarray, params)}, x, context, False)
        return (dy * y).sum(), y

    dx, y = jax.jit(jax.grad(run, has_aux=True))(x)
    for given, wanted in ((y, array(expected)), (dx, array(leaf.grad))):
        atol = F32_RELATIVE * np.abs(wanted[real]).max()
        np.testing.assert_allclose(given[real], wanted[real], rtol=0, atol=atol)


def cell_of(theirs: Any, ending: str = '') -> dict[str, np.ndarray]:
    """Return the parameters of a direction; torch has a bias of the input and one of the state."""
    weights = {name: array(getattr(theirs, f'{name}_l0{ending}')) for name in ('weight_ih', 'weight_hh')}
    bias = sum(array(getattr(theirs, f'bias_{of}_l0{ending}')) for of in ('ih', 'hh'))
    return {'inputs': weights['weight_ih'].T, 'recurrent': weights['weight_hh'].T, 'bias': bias}


def over_lengths(theirs: Any, output: Any) -> Callable[[Any], Any]:
    """Return a torch layer over rows of these lengths, followed by an output projection."""

    def run(x: Any) -> Any:
        rows = torch.nn.utils.rnn.pack_padded_sequence(x, LENGTHS, batch_first=True, enforce_sorted=False)
        return output(torch.nn.utils.rnn.pad_packed_sequence(theirs(rows)[0], batch_first=True)[0])

    return run


@pytest.mark.oracle_of('recurrent.mixer.recurrent:Recurrent', by='torch')
@pytest.mark.parametrize('cell', CELLS)
def test_a_recurrent_layer_is_that_of_torch(cell):
    theirs = redrawn(getattr(torch.nn, CELLS[cell])(D, WIDTH, batch_first=True))
    output = redrawn(torch.nn.Linear(WIDTH, D, bias=False))
    params = {'cell': cell_of(theirs), 'output': array(output.weight).T}
    spec = {'use': 'recurrent.mixer.recurrent:Recurrent', 'cell': {'use': f'recurrent.cell.{cell}', 'width': WIDTH}}
    assert_same(spec, params, over_lengths(theirs, output), padded=True)


@pytest.mark.oracle_of('recurrent.mixer.bidirectional:Bidirectional', by='torch')
@pytest.mark.oracle_of('attention.both_directions:BothDirections', by='torch')
@pytest.mark.parametrize('cell', CELLS)
def test_a_bidirectional_layer_is_that_of_torch(cell):
    """As one mixer, and as one mixer of each direction, which has half of the output projection."""
    theirs = redrawn(getattr(torch.nn, CELLS[cell])(D, WIDTH, batch_first=True, bidirectional=True))
    output = redrawn(torch.nn.Linear(2 * WIDTH, D, bias=False))
    cells, kernel = [cell_of(theirs), cell_of(theirs, '_reverse')], array(output.weight).T
    inner = {'cell': {'use': f'recurrent.cell.{cell}', 'width': WIDTH}}
    spec = inner | {'use': 'recurrent.mixer.bidirectional:Bidirectional'}
    params = dict(zip(('forward', 'backward'), cells, strict=True)) | {'output': kernel}
    assert_same(spec, params, over_lengths(theirs, output), padded=True)

    mixer = inner | {'use': 'recurrent.mixer.recurrent:Recurrent'}
    spec = {'use': 'attention.both_directions:BothDirections', 'mixer': mixer}
    ways = zip(('forward', 'backward'), cells, np.split(kernel, 2), strict=True)
    params = {way: {'cell': cell, 'output': half} for way, cell, half in ways}
    assert_same(spec, params, over_lengths(theirs, output), padded=True)


@pytest.mark.oracle_of('recurrent.mixer.convolution:Convolution', by='torch')
@pytest.mark.oracle_of('recurrent.mixer.centred_convolution:CentredConvolution', by='torch')
@pytest.mark.parametrize('depthwise', [True, False])
@pytest.mark.parametrize('name', ['convolution:Convolution', 'centred_convolution:CentredConvolution'])
def test_a_convolution_is_that_of_torch(name, depthwise):
    size = 5
    before = size - 1 if name == 'convolution:Convolution' else size // 2
    theirs = redrawn(torch.nn.Conv1d(D, D, size, groups=D if depthwise else 1))
    taps = np.moveaxis(array(theirs.weight), -1, 0)  # [size out in]
    kernel = taps[..., 0] if depthwise else np.swapaxes(taps, 1, 2).reshape(size * D, D)

    def run(x: Any) -> Any:
        return theirs(torch.nn.functional.pad(x.mT, (before, size - 1 - before))).mT

    spec = {'use': f'recurrent.mixer.{name}', 'size': size, 'depthwise': depthwise}
    assert_same(spec, {'output': kernel, 'bias': array(theirs.bias)}, run, padded=False)


@pytest.mark.oracle_of('recurrent.mixer.channel_mixing:ChannelMixing', by='transformers, RWKV')
def test_channel_mixing_is_that_of_rwkv():
    theirs = rwkv.RwkvFeedForward(rwkv.RwkvConfig(hidden_size=D, intermediate_size=3 * D))
    redrawn(theirs)
    params = {
        **{ours: array(getattr(theirs, name).weight).T for ours, name in (('up', 'key'), ('down', 'value'))},
        'gate': array(theirs.receptance.weight).T,
        'up_share': array(theirs.time_mix_key)[0, 0],
        'gate_share': array(theirs.time_mix_receptance)[0, 0],
    }
    spec = {'use': 'recurrent.mixer.channel_mixing:ChannelMixing', 'ratio': 3.0}
    assert_same(spec, params, lambda x: theirs(x)[0], padded=False)
