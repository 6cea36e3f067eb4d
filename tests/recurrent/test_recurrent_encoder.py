# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The recurrent encoder: its two directions, its layers, and what padding does to it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.recurrent.encoder import over
from saccade.types import LayerContext

B, S, E, D = 3, 7, 4, 5
LENGTHS = (7, 4, 1)
SEGMENTS = jnp.array([[1] * length + [0] * (S - length) for length in LENGTHS])
CONTEXT = LayerContext(jnp.tile(jnp.arange(S), (B, 1)), SEGMENTS)
X = jnp.array(np.random.default_rng(0).normal(size=(B, S, E)), jnp.float32)
CELLS = ('rnn:RNN', 'lstm:LSTM', 'gru:GRU')


def encoder(name, bidirectional=False, layers=1, **more):
    cell = {'use': f'recurrent.cell.{name}', 'width': D}
    spec = {'use': 'recurrent.encoder:Encoder', 'cell': cell, 'bidirectional': bidirectional, 'layers': layers}
    return build(spec | more)()


def encoded(module, x=X, layer_context=CONTEXT, train=False, **more):
    return module.init_with_output(jax.random.key(0), x, layer_context, train, **more)


@pytest.mark.long
@pytest.mark.parametrize('name', CELLS)
def test_the_context_is_the_state_at_the_last_token_that_is_none_of_the_padding(name):
    found, _ = encoded(encoder(name))
    for row, length in enumerate(LENGTHS):
        np.testing.assert_array_equal(found.context[row], found.hidden[row, length - 1])
    np.testing.assert_array_equal(jax.tree.leaves(found.states)[0], found.context)


@pytest.mark.parametrize('name', CELLS)
@pytest.mark.parametrize('bidirectional', [False, True])
def test_what_stands_in_the_padding_changes_nothing(name, bidirectional):
    module = encoder(name, bidirectional, layers=2)
    before, params = encoded(module)
    after = module.apply(params, jnp.where(SEGMENTS[..., None] == 0, 100.0, X), CONTEXT, False)
    real = SEGMENTS != 0
    np.testing.assert_array_equal(before.hidden[real], after.hidden[real])
    np.testing.assert_array_equal(before.context, after.context)


@pytest.mark.long
@pytest.mark.parametrize('name', CELLS)
def test_the_two_halves_are_runs_on_the_tokens_and_on_the_tokens_turned_round(name):
    module = encoder(name, bidirectional=True)
    found, params = encoded(module)
    for row, length in enumerate(LENGTHS):
        x = X[row : row + 1, :length]
        for way, half in (('forward', slice(0, D)), ('backward', slice(D, 2 * D))):
            turn = -1 if way == 'backward' else 1
            cell, own = module.cell(), {'params': params['params'][f'layer_0_{way}']}
            alone, last = cell.apply(own, x[:, ::turn], jnp.ones((1, length), int), False, method=over)
            np.testing.assert_allclose(found.hidden[row, :length, half], alone[0, ::turn], atol=1e-6)
            np.testing.assert_allclose(found.context[row, half], cell.hidden(last)[0], atol=1e-6)


def test_every_layer_and_direction_has_weights_of_its_own():
    _, params = encoded(encoder('gru:GRU', bidirectional=True, layers=2))
    assert {name: leaves['inputs'].shape[0] for name, leaves in params['params'].items()} == {
        'layer_0_forward': E,
        'layer_0_backward': E,
        'layer_1_forward': 2 * D,
        'layer_1_backward': 2 * D,
    }


@pytest.mark.long
def test_dropout_stands_between_the_layers_alone():
    for layers, changes in ((1, False), (2, True)):
        module = encoder('gru:GRU', layers=layers, dropout=0.5)
        still, params = encoded(module)
        trained = module.apply(params, X, CONTEXT, True, rngs={'dropout': jax.random.key(0)})
        assert (trained.hidden != still.hidden).any() == changes
