# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Perceiver IO: padding that is not read, inputs in any order, and what its latents limit."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.types import LayerContext

F32_RELATIVE = 1e-5  # of the largest element
T, V = 9, 17
SPEC = {
    'use': 'model.perceiver:Perceiver',
    'vocabulary': V,
    'context_length': T,
    'width': 8,
    'layers': 2,
    'latents': 3,
    'block': {'use': 'block.pre_norm:PreNorm', 'mixer': {'use': 'attention.multi_head:MultiHead', 'heads': 2}},
    'heads': {'each': {'use': 'head.each_token:EachToken', 'classes': 3}},
}
TOKENS = jnp.array(np.random.default_rng(0).integers(0, V, (2, T)))
PLACES = jnp.tile(jnp.arange(T), (2, 1))


def drawn(**changes):
    model = build(SPEC | changes)()
    random = np.random.default_rng(1)
    shapes = jax.eval_shape(lambda: model.init(jax.random.key(0), TOKENS))['params']
    return model, {'params': jax.tree.map(lambda leaf: jnp.array(random.normal(size=leaf.shape), jnp.float32), shapes)}


def assert_near(given, expected):
    np.testing.assert_allclose(given, expected, rtol=0, atol=F32_RELATIVE * np.abs(expected).max())


@pytest.mark.long
@pytest.mark.parametrize('before', [0, 3])
def test_padding_is_not_read(before):
    model, params = drawn()
    real = slice(before, before + 5)
    segments = jnp.zeros((2, T), int).at[:, real].set(1)
    context = LayerContext(jnp.where(segments == 1, PLACES - before, 0), segments)
    y = model.apply(params, TOKENS, context)['each'][:, real]
    assert_near(y, model.apply(params, TOKENS[:, real])['each'])
    other = jnp.where(segments == 1, TOKENS, (TOKENS + 1) % V)
    np.testing.assert_array_equal(model.apply(params, other, context)['each'][:, real], y)


@pytest.mark.long
def test_inputs_without_positions_have_no_order_and_outputs_have_that_of_their_queries():
    model, params = drawn()
    y, moved = (model.apply(params, tokens)['each'] for tokens in (TOKENS, TOKENS[:, ::-1]))
    assert_near(moved, y)
    assert np.abs(y[:, 1:] - y[:, :1]).max() > 0.1
    assert np.abs(model.apply(params, TOKENS.at[:, 4].set(0))['each'] - y)[:, 0].max() > 1e-3


@pytest.mark.long
def test_alike_latents_stay_alike_so_that_one_is_enough():
    model, params = drawn()
    one, _ = drawn(latents=1)
    first = params['params']['latents'][:1]
    alike = {'params': params['params'] | {'latents': jnp.repeat(first, 3, axis=0)}}
    assert_near(
        model.apply(alike, TOKENS)['each'], one.apply({'params': params['params'] | {'latents': first}}, TOKENS)['each']
    )


def test_a_row_with_more_than_one_document_has_no_numbers():
    model, params = drawn()
    context = LayerContext(PLACES, jnp.array([[1] * 5 + [2] * 4, [2] * T]))
    packed, alone = np.isnan(model.apply(params, TOKENS, context)['each']).all(axis=(1, 2))
    assert packed
    assert not alone
