# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Attention pooling head: by its formula in NumPy, whatever padding holds; the pool of the last token."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.head.attention_pooled import AttentionPooled
from saccade.ops.pool import last
from saccade.types import LayerContext, Reading

NEAR = 1e-5
SEGMENTS = jnp.array([[1, 1, 1, 1], [1, 1, 0, 0]])


def head(**changes):
    return build(
        {'use': 'head.attention_pooled:AttentionPooled', **AttentionPooled.example, 'classes': None, **changes}, ''
    )()


def reading():
    return Reading(LayerContext(jnp.broadcast_to(jnp.arange(4), (2, 4)), SEGMENTS), None)


@pytest.mark.long
def test_it_is_the_attention_of_a_trained_query_and_padding_does_not_count():
    x = jax.random.normal(jax.random.key(0), (2, 4, 6))
    model = head()
    params = jax.tree.map(lambda leaf: 10 * leaf, model.init(jax.random.key(1), x, reading(), False))
    found = model.apply(params, x, reading(), False)
    weights = jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), params['params'])
    mixer, there = weights['mixer'], np.asarray(SEGMENTS) != 0
    query = np.einsum('d,dnh->nh', weights['query'][0], mixer['query'])
    key, value = (np.einsum('btd,dnh->btnh', np.asarray(x, np.float64), mixer[name]) for name in ('key', 'value'))
    scores = np.einsum('nh,btnh->bnt', query, key) / np.sqrt(query.shape[-1])
    scores = np.exp(np.where(there[:, None], scores, -np.inf))
    read = np.einsum('bnt,btnh->bnh', scores / scores.sum(axis=-1, keepdims=True), value)
    np.testing.assert_allclose(found, np.einsum('bnh,nhd->bd', read, mixer['output']), rtol=1e-4, atol=NEAR)
    changed = model.apply(params, x.at[1, 2:].set(99.0), reading(), False)
    np.testing.assert_array_equal(changed, found)


@pytest.mark.long
def test_the_feed_forward_layer_is_a_branch_beside_what_it_read():
    x = jax.random.normal(jax.random.key(0), (2, 4, 6))
    mlp = {'use': 'feedforward.mlp:MLP', 'activation': {'use': 'jax.nn:gelu'}}
    model = head(feedforward=mlp)
    params = model.init(jax.random.key(1), x, reading(), False)
    silent = jax.tree.map(jnp.zeros_like, params['params']['feedforward'])
    without = {'params': params['params'] | {'feedforward': silent}}
    alone = head().apply({'params': {name: params['params'][name] for name in ('query', 'mixer')}}, x, reading(), False)
    np.testing.assert_allclose(model.apply(without, x, reading(), False), alone, atol=NEAR)
    assert not np.allclose(model.apply(params, x, reading(), False), alone, atol=NEAR)


def test_the_last_token_is_that_before_padding():
    x = jnp.arange(2 * 4 * 3, dtype=jnp.float32).reshape(2, 4, 3)
    np.testing.assert_array_equal(last(x, SEGMENTS != 0), jnp.stack([x[0, 3], x[1, 1]]))
    np.testing.assert_array_equal(last(x), x[:, 3])
