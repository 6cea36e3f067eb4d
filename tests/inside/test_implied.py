# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Implied attention: the equations of the mixers, attention weights where there are some, and the whole Jacobian."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.ops.implied import implied_pattern
from saccade.ops.mask import Causal, Full
from saccade.ops.scoring import Scoring
from saccade.taps import Tapped
from saccade.types import LayerContext

NEAR = 1e-5
B, T, D, N = 2, 7, 16, 4
X = jnp.array(np.random.default_rng(0).normal(size=(B, T, D)), jnp.float32)
CONTEXT = LayerContext(jnp.broadcast_to(jnp.arange(T), (B, T)))
SEGMENTS = jnp.array([[1, 1, 1, 2, 2, 2, 2], [1, 1, 1, 1, 1, 0, 0]])
NO_POSITION = {'use': 'position.none:NoPosition'}


def multi_head(kernel, mask='Causal'):
    return {
        'use': 'attention.multi_head:MultiHead', 'heads': N, 'key_value_heads': 2, 'kernel': {'use': kernel},
        'mask': {'use': f'ops.mask:{mask}'}, 'position': NO_POSITION,
    }  # fmt: skip


RETENTION = {'use': 'attention.retention:Retention', 'heads': N, 'rates': [0.9, 0.5, 0.99, 0.2], 'chunk': 3}
RETENTION |= {'position': NO_POSITION}
DELTA = {'use': 'attention.delta:Delta', 'heads': N, 'decay': False, 'chunk': 3}


def drawn(spec):
    module = build(spec)()
    shapes = jax.eval_shape(lambda: module.init(jax.random.key(0), X, CONTEXT, False, mutable=['params']))
    random = np.random.default_rng(1)
    return module, jax.tree.map(lambda leaf: jnp.array(random.normal(size=leaf.shape, scale=0.4), leaf.dtype), shapes)


def implied(module, variables, context=CONTEXT):
    run = jax.jit(lambda variables, x: module.apply(variables, x, context, False, mutable=['pattern']))
    (tapped,) = jax.tree.leaves(run(variables, X)[1], is_leaf=lambda node: isinstance(node, Tapped))
    assert 'implied' in tapped.note
    return np.asarray(tapped.value)


def projected(variables, *names):
    params = jax.tree.map(np.float64, variables['params'])
    return [np.einsum('btd,dnh->bnth', np.float64(X), params[name]) for name in names]


def assert_near(given, expected):
    np.testing.assert_allclose(given, expected, rtol=0, atol=NEAR * np.abs(expected).max())


@pytest.mark.parametrize('mask', [Causal(), Full()])
def test_of_softmax_attention_it_is_the_attention_weights(mask):
    q, k, v = (jnp.array(np.random.default_rng(n).normal(size=(B, T, N, 3)), jnp.float32) for n in range(3))
    scoring = Scoring(mask, scale=0.5)
    assert_near(implied_pattern(*jax.vjp(lambda v: scoring.attend(q, k, v)[0], v)), scoring.attend(q, k, v)[1])


@pytest.mark.long
def test_of_linear_attention_it_is_products_of_features_over_their_sum():
    module, variables = drawn(multi_head('attention.linear:Linear'))
    q, k = (np.where(x > 0, x + 1, np.exp(x)) for x in projected(variables, 'query', 'key'))
    products = np.einsum('bnth,bnsh->bnts', q, np.repeat(k, 2, axis=1)) * np.tri(T)
    assert_near(implied(module, variables), products / products.sum(axis=-1, keepdims=True))


@pytest.mark.long
def test_of_retention_it_is_products_that_decay():
    module, variables = drawn(RETENTION)
    q, k = projected(variables, 'query', 'key')
    distance = np.arange(T)[:, None] - np.arange(T)
    decay = np.tri(T) * np.array(RETENTION['rates'])[:, None, None] ** np.maximum(distance, 0)
    assert_near(implied(module, variables), decay * (q @ np.swapaxes(k, -1, -2)) / np.sqrt(D // N))


@pytest.mark.long
def test_of_the_delta_rule_it_is_what_later_keys_leave_of_a_value():
    module, variables = drawn(DELTA)
    q, k, v = projected(variables, 'query', 'key', 'value')
    q, k = (x / (1 + np.exp(-x)) for x in (q, k))
    q, k = (x / np.sqrt((x * x).sum(axis=-1, keepdims=True) + 1e-6) for x in (q, k))
    write = 1 / (1 + np.exp(-np.einsum('btd,dn->bnt', X, np.float64(variables['params']['write']))))
    gate = 1 / (1 + np.exp(-v))
    slope = (gate * (1 + v * (1 - gate))).mean(axis=-1)  # of the values' SiLU
    expected = np.zeros((B, N, T, T))
    for b, n, j in np.ndindex(B, N, T):
        left = write[b, n, j] * k[b, n, j]
        for i in range(j, T):
            if i > j:
                left = left - write[b, n, i] * k[b, n, i] * (k[b, n, i] @ left)
            expected[b, n, i, j] = q[b, n, i] @ left * slope[b, n, j]
    assert_near(implied(module, variables), expected)


@pytest.mark.long
@pytest.mark.parametrize('spec', [RETENTION, DELTA], ids=['retention', 'delta'])
def test_it_is_the_jacobian_of_the_whole_mixer_by_its_values(spec):
    """Values are one half of the input and all else is of the other; the heads' outputs come out side by side."""
    V = D // 2 // N
    module, variables = drawn(spec | {'value_width': V, 'head_norm': None, 'gate': None})
    others = {name: leaf.at[D // 2 :].set(0.0) for name, leaf in variables['params'].items() if name != 'output'}
    value = jnp.eye(D)[:, D // 2 :].reshape(D, N, V)
    output = jnp.eye(D)[: D // 2].reshape(N, V, D)
    variables = {'params': others | {'value': value, 'output': output}}
    full = jax.jacrev(lambda x: module.apply(variables, x, CONTEXT, False)[..., : D // 2])(X)[..., D // 2 :]
    full = np.einsum('btibsj->btisj', full).reshape(B, T, N, V, T, N, V)
    assert_near(implied(module, variables), np.einsum('btnusnu->bnts', full) / V)
    apart = full * (1 - np.einsum('nm,uw->numw', np.eye(N), np.eye(V)))[None, None, :, :, None]
    assert np.abs(apart).max() < NEAR
