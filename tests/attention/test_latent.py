# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Latent attention against a loop, on every path; its state is the latents alone."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from drawn import drawn

from saccade.types import LayerContext, UserError

F32_RELATIVE = 1e-5  # of the largest element
B, T, D, N, R, H, RH, V = 2, 7, 16, 3, 5, 4, 2, 6
X = jnp.array(np.random.default_rng(0).normal(size=(B, T, D)), jnp.float32)
CONTEXT = LayerContext(jnp.tile(jnp.arange(T), (B, 1)))
BLOCKWISE = {'use': 'attention.blockwise:Blockwise', 'query_block': 4, 'key_block': 3}
SPEC = {
    'use': 'attention.latent:Latent',
    'heads': N,
    'rank': R,
    'head_width': H,
    'value_width': V,
    'rotated_width': RH,
    'kernel': {'use': 'attention.plain:Plain'},
    'mask': {'use': 'ops.mask:Causal'},
    'position': {'use': 'position.rotary:Rotary', 'base': 10.0},
    'norm': {'use': 'norm.rms:RMSNorm'},
}


def made(**changes):
    return drawn({**SPEC, **changes}, X, CONTEXT)


def turned(pair, position):
    """A pair of features turned by an angle of `position` radians."""
    cosine, sine = np.cos(position), np.sin(position)
    return np.array([pair[0] * cosine - pair[1] * sine, pair[0] * sine + pair[1] * cosine])


def normed(x, scale):
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * scale


def looped(params, query_rank=None):
    """The paper's equations, one query and one head at a time."""
    p = jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), params['params'])
    x = np.asarray(X, np.float64)
    latent, shared = normed(x @ p['latent'], p['latent_norm']['scale']), x @ p['rotated_key']
    read = x if query_rank is None else normed(x @ p['query_latent'], p['query_norm']['scale'])
    y = np.zeros((B, T, D))
    for b, t, n in np.ndindex(B, T, N):
        query = read[b, t] @ p['query'][:, n]
        query = np.concatenate([query[:H], turned(query[H:], t)])
        keys = [np.concatenate([latent[b, s] @ p['key'][:, n], turned(shared[b, s], s)]) for s in range(t + 1)]
        weights = np.exp(np.array(keys) @ query / np.sqrt(H + RH))
        values = latent[b, : t + 1] @ p['value'][:, n]
        y[b, t] += weights / weights.sum() @ values @ p['output'][n]
    return y


def assert_near(given, expected):
    np.testing.assert_allclose(given, expected, rtol=0, atol=F32_RELATIVE * np.abs(expected).max())


@pytest.mark.long
@pytest.mark.parametrize('query_rank', [None, 7])
@pytest.mark.parametrize('kernel', [SPEC['kernel'], BLOCKWISE])
def test_it_is_its_equations(query_rank, kernel):
    module, params = made(query_rank=query_rank, kernel=kernel)
    assert_near(module.apply(params, X, CONTEXT, False), looped(params, query_rank))


@pytest.mark.long
def test_steps_over_latents_give_the_whole_sequence():
    module, params = made()
    state, outputs = module.apply(params, X[:, :1], T, method='init_state'), []
    for start, stop in ((0, 3), (3, 4), (4, 7)):
        context = LayerContext(CONTEXT.positions[:, start:stop])
        y, state = module.apply(params, X[:, start:stop], context, state, method='step')
        outputs.append(y)
    assert_near(jnp.concatenate(outputs, axis=1), looped(params))


def test_the_state_holds_a_latent_and_a_rotated_key_a_token():
    module, params = made()
    state = module.apply(params, X[:, :1], 5, method='init_state')
    assert state.k.shape == (B, 1, 5, R + RH)
    assert state.v.size == 0


def test_a_term_that_reads_queries_and_keys_is_refused_and_a_bias_is_not():
    with pytest.raises(UserError, match=r'over latents, so ops\.term:RelativeKeys'):
        made(position={'use': 'position.shaw:Shaw', 'reach': 3, 'head_width': H})
    made(position={'use': 'position.alibi:ALiBi'})


def test_sizes_that_are_none_are_refused():
    with pytest.raises(UserError, match='rank must be at least 1'):
        made(rank=0)
