# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""nGPT attention against a loop of its equation, and cosine attention."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from drawn import drawn

from saccade.types import LayerContext

RELATIVE = 1e-5
B, T, D, N, K, H = 2, 6, 16, 4, 2, 4
X = jax.random.normal(jax.random.key(0), (B, T, D))
CONTEXT = LayerContext(jnp.broadcast_to(jnp.arange(T), (B, T)))
HEADS = {
    'heads': N, 'key_value_heads': K, 'kernel': {'use': 'attention.plain:Plain'},
    'mask': {'use': 'ops.mask:Causal'}, 'position': {'use': 'position.none:NoPosition'},
}  # fmt: skip
NORMALIZED = HEADS | {'use': 'attention.normalized_heads:NormalizedHeads'}
COSINE = HEADS | {'use': 'attention.multi_head:MultiHead', 'terms': [{'use': 'score.cosine:Cosine'}]}


def near(given, expected):
    given, expected = np.asarray(given), np.asarray(expected)
    np.testing.assert_allclose(given, expected, rtol=0, atol=RELATIVE * np.abs(expected).max())


def whole(module, params):
    return jax.jit(lambda params: module.apply({'params': params}, X, CONTEXT, False))(params)


def turned(x, place):
    """Rotary: features c and c + H/2 turn together."""
    angles = place * 10000.0 ** (-np.arange(H // 2) / (H // 2))
    cos, sin, first, last = np.cos(angles), np.sin(angles), x[: H // 2], x[H // 2 :]
    return np.concatenate([first * cos - last * sin, last * cos + first * sin])


def by_loops(params, x):
    q, k, v = (np.einsum('td,dnh->nth', x, params[name]) for name in ('query', 'key', 'value'))
    gain, y = params['gain'] * np.sqrt(D), np.zeros((T, N, H))  # stored at 1 / sqrt(D), for a start of 1
    for n, i in np.ndindex(N, T):
        scores = []
        for j in range(i + 1):
            of_q, of_k = turned(q[n, i], i), turned(k[n * K // N, j], j)
            of_q, of_k = (gain[n] * of / np.linalg.norm(of) for of in (of_q, of_k))
            scores.append(np.sqrt(H) * of_q @ of_k)
        y[i, n] = np.exp(scores) / np.exp(scores).sum() @ v[n * K // N, : i + 1]
    return np.einsum('tnh,nhd->td', y, params['output'])


def test_it_is_the_equation():
    module, variables = drawn(NORMALIZED | {'position': {'use': 'position.rotary:Rotary'}}, X, CONTEXT)
    exact = jax.tree.map(np.float64, variables['params'])
    found = whole(module, variables['params'])
    for row in range(B):
        near(found[row], by_loops(exact, np.float64(X[row])))


@pytest.mark.long
def test_with_equal_factors_it_is_cosine_attention():
    (normalized, variables), (cosine, _) = drawn(NORMALIZED, X, CONTEXT), drawn(COSINE, X, CONTEXT)
    params, g = variables['params'], 1.3
    gains = jnp.full((N, H), g / np.sqrt(D))
    log_gain = jnp.full(N, np.log(np.sqrt(H) * g**2))
    found = whole(normalized, params | {'gain': gains})
    near(found, whole(cosine, params | {'term_0': {'log_gain': log_gain}}))


@pytest.mark.long
def test_the_factors_start_at_one_and_are_stored_small():
    module, _ = drawn(NORMALIZED, X, CONTEXT)
    gain = module.init(jax.random.key(0), X, CONTEXT, False)['params']['gain']
    np.testing.assert_allclose(gain, np.full((N, H), D**-0.5), rtol=1e-6)
