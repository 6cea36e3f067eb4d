# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Exclusive self-attention against a loop of its equation, multi-head attention, and what it is named for."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.types import LayerContext, UserError

RELATIVE = 1e-5
B, T, D, N, K = 2, 7, 16, 4, 2
X = jax.random.normal(jax.random.key(0), (B, T, D))
SEGMENTS = jnp.array([[1] * 3 + [2] * 4, [1] * 5 + [0] * 2])
PACKED = LayerContext(jnp.array([[0, 1, 2, 0, 1, 2, 3], [0, 1, 2, 3, 4, 0, 0]]), SEGMENTS)
ALONE = LayerContext(jnp.broadcast_to(jnp.arange(T), (B, T)))
MULTI_HEAD = {
    'use': 'attention.multi_head:MultiHead', 'heads': N, 'key_value_heads': K,
    'kernel': {'use': 'attention.plain:Plain'}, 'mask': {'use': 'ops.mask:Causal'},
    'position': {'use': 'position.none:NoPosition'},
}  # fmt: skip


def exclusive(share, **changes):
    return build(MULTI_HEAD | {'use': 'attention.exclusive:Exclusive', 'share': share} | changes)()


def drawn(module):
    shapes = jax.eval_shape(lambda: module.init(jax.random.key(0), X, ALONE, False))
    random = np.random.default_rng(1)
    return jax.tree.map(lambda leaf: jnp.array(random.normal(size=leaf.shape, scale=0.4), leaf.dtype), shapes)


def near(given, expected):
    given, expected = np.asarray(given), np.asarray(expected)
    np.testing.assert_allclose(given, expected, rtol=0, atol=RELATIVE * np.abs(expected).max())


def by_loops(params, x, segments, share):
    q, k, v = (np.einsum('td,dnh->nth', x, params[name]) for name in ('query', 'key', 'value'))
    y = np.zeros((T, N, D // N))
    for n, i in np.ndindex(N, T):
        seen = [j for j in range(i + 1) if segments[j] == segments[i] != 0]
        if seen:
            exponentials = np.exp([q[n, i] @ k[n * K // N, j] / np.sqrt(D // N) for j in seen])
            read, own = exponentials / exponentials.sum() @ v[n * K // N, seen], v[n * K // N, i]
            y[i, n] = read - share * (read @ own) / (own @ own) * own
    return np.einsum('tnh,nhd->td', y, params['output'])


@pytest.mark.long
@pytest.mark.parametrize('share', [0.5, 1.0])
def test_it_is_the_equation(share):
    module = exclusive(share)
    variables = drawn(module)
    found = module.apply(variables, X, PACKED, False)
    exact = jax.tree.map(np.float64, variables['params'])
    for row in range(B):
        wanted = by_loops(exact, np.float64(X[row]), np.asarray(SEGMENTS[row]), share)
        real = np.asarray(SEGMENTS[row]) != 0
        near(found[row][real], wanted[real])


@pytest.mark.long
def test_taking_nothing_off_is_multi_head_attention():
    module = exclusive(0.0)
    variables = drawn(module)
    expected = build(MULTI_HEAD)().apply(variables, X, PACKED, False)
    np.testing.assert_array_equal(module.apply(variables, X, PACKED, False), expected)


def test_a_token_that_has_itself_alone_reads_nothing():
    module = exclusive(1.0)
    y = module.apply(drawn(module), X, ALONE, False)
    assert np.abs(y[:, 0]).max() < RELATIVE * np.abs(y).max()


def test_what_a_head_reads_is_orthogonal_to_the_own_value():
    module = exclusive(1.0, key_value_heads=N)
    variables = drawn(module)
    heads = jnp.eye(D).reshape(N, D // N, D)  # the outputs of the heads side by side
    params = {**variables['params'], 'output': heads}
    y = module.apply({'params': params}, X, ALONE, False).reshape(B, T, N, D // N)
    v = jnp.einsum('btd,dnh->btnh', X, params['value'])
    assert np.abs((y * v).sum(axis=-1)).max() < 1e-5


def test_another_sequence_has_no_own_values():
    with pytest.raises(UserError, match='does not support cross-attention'):
        exclusive(1.0).init(jax.random.key(0), X, ALONE.replace(source=ALONE.read(X)), False)


def test_a_share_is_one():
    with pytest.raises(UserError, match='share'):
        exclusive(1.5).init(jax.random.key(0), X, ALONE, False)


@pytest.mark.long
def test_a_token_of_zeros_leaves_a_finite_gradient():
    x = jnp.asarray(np.random.default_rng(0).normal(size=(1, 3, 16)), jnp.float32).at[:, 2].set(0.0)
    module = build(dict(use='attention.exclusive:Exclusive', heads=2, share=1.0))()
    context = LayerContext(jnp.arange(3)[None])
    params = module.init(jax.random.key(0), x, context, False)
    gradients = jax.grad(lambda params: module.apply(params, x, context, False).sum())(params)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradients))
