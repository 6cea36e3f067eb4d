# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The decoding state of attention by scores."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.attention.cache import Cache
from saccade.attention.multi_head import MultiHead
from saccade.attention.plain import Plain
from saccade.ops.mask import Causal, Full, Window
from saccade.ops.scoring import Scoring
from saccade.types import LayerContext, Part

NEAR = 1e-5
B, N, K, H, D = 2, 4, 2, 4, 16


def normal(number, *shape):
    return jnp.array(np.random.default_rng(number).normal(size=shape), jnp.float32)


K_NEW, V_NEW = normal(0, B, 4, K, H), normal(1, B, 4, K, H)
# Row 1 is a token behind row 0: its first slot holds none.
CONTEXT = LayerContext(jnp.array([[0, 1, 2, 3], [0, 0, 1, 2]]), jnp.array([[1, 1, 1, 1], [0, 1, 1, 1]]))
QUERIES = normal(3, B, 4, N, H)


def part(context, here):
    return jax.tree.map(lambda leaf: leaf[:, here], context)


def appended(*pieces):
    """A cache to which pieces of the new keys and values were appended."""
    cache = Cache.empty(K_NEW, V_NEW, {}, 7)
    for here in pieces:
        cache = cache.append(K_NEW[:, here], V_NEW[:, here], {}, part(CONTEXT, here))
    return cache


def test_pieces_stand_one_behind_another():
    jax.tree.map(np.testing.assert_array_equal, appended(slice(0, 3), slice(3, 4)), appended(slice(0, 4)))
    np.testing.assert_array_equal(appended(slice(0, 3)).filled, 3)


@pytest.mark.long
def test_values_may_be_read_back_by_the_queries_that_see_one_key():
    y = appended(slice(0, 4)).attend(QUERIES, Scoring(Window(0)), CONTEXT)
    real = CONTEXT.segments != 0
    np.testing.assert_allclose(y[real], jnp.repeat(V_NEW, N // K, axis=-2)[real], atol=NEAR)


@pytest.mark.long
def test_empty_slots_and_padding_are_not_read():
    y = appended(slice(0, 4)).attend(QUERIES, Scoring(Full()), CONTEXT)
    np.testing.assert_array_equal(y[1, 0], 0.0)
    assert (jnp.abs(y).max(axis=(-1, -2)) > 0).sum() == 7
    real = CONTEXT.segments[..., None, None] != 0
    loud = Cache.empty(K_NEW, V_NEW, {}, 7).append(*(jnp.where(real, x, 100.0) for x in (K_NEW, V_NEW)), {}, CONTEXT)
    np.testing.assert_array_equal(loud.attend(QUERIES, Scoring(Full()), CONTEXT), y)


@pytest.mark.long
@pytest.mark.parametrize('mask', [Causal(), Window(1)])
def test_masks_are_given_positions(mask):
    y = appended(slice(0, 4)).attend(QUERIES, Scoring(mask), CONTEXT)
    context = LayerContext(jnp.tile(jnp.arange(3), (B, 1)))
    alone = Cache.empty(K_NEW, V_NEW, {}, 7).append(K_NEW[:, 1:], V_NEW[:, 1:], {}, context)
    np.testing.assert_allclose(y[1, 1:], alone.attend(QUERIES[:, 1:], Scoring(mask), context)[1], atol=NEAR)
    assert jnp.abs(y - appended(slice(0, 4)).attend(QUERIES, Scoring(Full()), CONTEXT)).max() > 0.1


@pytest.mark.long
def test_a_term_with_a_carry_is_replayed_by_steps(gate_class):
    """Slots that hold no token must not add to what the term counts from the last key to the first."""

    class Gated(nn.Module):
        def rotate(self, q, k, q_positions, k_positions):
            return q, k

        def terms(self, heads):
            return (gate_class(jnp.arange(1.0, heads + 1)),)

    module = MultiHead(heads=N, kernel=Part(Plain), mask=Part(Causal), position=Part(Gated), key_value_heads=K)
    x = normal(4, B, 5, D)
    segments = jnp.array([[1, 1, 1, 1, 1], [0, 0, 1, 1, 1]])
    positions = jnp.array([[0, 1, 2, 3, 4], [0, 0, 0, 1, 2]])
    shapes = jax.eval_shape(lambda: module.init(jax.random.key(0), x, LayerContext(positions, segments), False))
    params = jax.tree.map(lambda leaf: normal(5, *leaf.shape), shapes)
    whole = jax.jit(lambda x: module.apply(params, x, LayerContext(positions, segments), False))(x)
    state, parts = module.apply(params, x[:, :1], 7, method='init_state'), []
    step = jax.jit(lambda *chunk: module.apply(params, *chunk, method='step'))
    for here in (slice(0, 3), slice(3, 5)):
        y, state = step(x[:, here], LayerContext(positions[:, here], segments[:, here]), state)
        parts.append(y)
    np.testing.assert_allclose(jnp.concatenate(parts, axis=1)[segments != 0], whole[segments != 0], atol=NEAR)
