# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Synthesizers: against loops over the paper's equations, and what their scores depend on."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.types import LayerContext, UserError

B, T, D, N, H, LENGTH = 2, 7, 12, 3, 4, 9
DENSE, RANDOM = 'attention.dense_synthesizer:DenseSynthesizer', 'attention.random_synthesizer:RandomSynthesizer'
X = jnp.array(np.random.default_rng(0).normal(size=(B, T, D)), jnp.float32)
SPECS = {'dense': {'use': DENSE}, 'random': {'use': RANDOM}, 'factorised': {'use': RANDOM, 'rank': 2}}


def drawn(spec, **more):
    module = build({**spec, 'heads': N, 'length': LENGTH, 'mask': {'use': 'ops.mask:Causal'}, **more})()
    random = np.random.default_rng(1)
    params = module.init(jax.random.key(0), X)['params']
    return module, jax.tree.map(lambda leaf: jnp.array(random.normal(size=leaf.shape), jnp.float32), params)


def scores(name, x, p, i, j, n):
    """The score of two places of one sequence in a head, by the equations."""
    if name == 'dense':
        return np.maximum(x[i] @ p['query'][:, n], 0) @ p['position_key'][j, n]
    if name == 'random':
        return p['position_query'][i, n, j]
    return p['position_query'][i, n] @ p['position_key'][j, n]


@pytest.mark.parametrize('name', SPECS)
def test_it_is_the_loop_over_the_equations(name):
    module, params = drawn(SPECS[name])
    p, xs = jax.tree.map(np.float64, params), np.float64(X)
    expected = np.zeros((B, T, D))
    for b, i, n in np.ndindex(B, T, N):
        weights = np.exp([scores(name, xs[b], p, i, j, n) for j in range(i + 1)])
        values = xs[b, : i + 1] @ p['value'][:, n]
        expected[b, i] += (weights / weights.sum()) @ values @ p['output'][n]
    np.testing.assert_allclose(module.apply({'params': params}, X), expected, atol=1e-4)


@pytest.mark.parametrize('name', SPECS)
def test_scores_do_not_depend_on_the_tokens_that_they_weigh(name):
    module, params = drawn(SPECS[name], kernel={'use': 'attention.plain:Plain'})

    def weights(x):
        return jax.tree.leaves(module.apply({'params': params}, x, mutable=['pattern'])[1])[0]

    before, after = weights(X), weights(X.at[:, 2].multiply(-3.0))
    np.testing.assert_array_equal(before[:, :, 3:], after[:, :, 3:])
    assert (np.abs(before - after)[:, :, 2].max() > 0) == (name == 'dense')


def test_the_whole_matrix_is_that_of_two_factors():
    factors, params = drawn(SPECS['factorised'])
    whole, others = drawn(SPECS['random'])
    product = jnp.einsum('TNR,SNR->TNS', params['position_query'], params['position_key'])
    others = {**others, 'value': params['value'], 'output': params['output'], 'position_query': product}
    np.testing.assert_allclose(whole.apply({'params': others}, X), factors.apply({'params': params}, X), atol=1e-4)


@pytest.mark.long
def test_documents_in_a_row_have_positions_of_their_own():
    for spec in SPECS.values():
        module, params = drawn(spec)
        context = LayerContext(jnp.array([[0, 1, 2, 0, 1, 2, 3]] * B), jnp.array([[1, 1, 1, 2, 2, 2, 2]] * B))
        packed = module.apply({'params': params}, X, context)[:, 3:]
        np.testing.assert_allclose(packed, module.apply({'params': params}, X[:, 3:]), atol=1e-5)


def test_more_tokens_than_positions_and_a_norm_of_heads_are_refused():
    module, params = drawn(SPECS['dense'])
    with pytest.raises(UserError, match='10 tokens is longer than the 9 positions'):
        module.apply({'params': params}, jnp.zeros((1, 10, D)))
    with pytest.raises(UserError, match='head_norm'):
        drawn(SPECS['dense'], head_norm={'use': 'norm.rms:RMSNorm'})
