# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Differential attention against a loop, on every path, and what its settings make it equal to."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from drawn import drawn

from saccade.types import LayerContext, UserError

F32_RELATIVE = 1e-5  # of the largest element
B, T, D = 2, 7, 16
X = jnp.array(np.random.default_rng(0).normal(size=(B, T, D)), jnp.float32)
CONTEXT = LayerContext(jnp.tile(jnp.arange(T), (B, 1)))
BLOCKWISE = {'use': 'attention.blockwise:Blockwise', 'query_block': 4, 'key_block': 3}
SPEC = {
    'use': 'attention.differential:Differential',
    'heads': 8,
    'key_value_heads': 4,
    'head_width': 3,
    'kernel': {'use': 'attention.plain:Plain'},
    'mask': {'use': 'ops.mask:Causal'},
    'position': {'use': 'position.none:NoPosition'},
}


def made(**changes):
    return drawn({**SPEC, **changes}, X, CONTEXT)


def softmax(scores):
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()


def looped(params, start):
    """The paper's equations, one query and one pair of heads at a time."""
    p = {name: np.asarray(leaf, np.float64) for name, leaf in params['params'].items()}
    q, k, v = (np.einsum('btd,dnh->btnh', np.asarray(X, np.float64), p[name]) for name in ('query', 'key', 'value'))
    one, two = (np.exp(p[f'lambda_query_{number}'] @ p[f'lambda_key_{number}']) for number in (1, 2))
    y = np.zeros((B, T, D))
    for b, t, pair, member in np.ndindex(B, T, 2, 2):
        value = np.concatenate([v[b, : t + 1, 2 * pair], v[b, : t + 1, 2 * pair + 1]], axis=-1)
        read = [
            softmax(k[b, : t + 1, 2 * pair + side] @ q[b, t, 4 * pair + 2 * side + member] / np.sqrt(3)) @ value
            for side in (0, 1)
        ]
        difference = read[0] - (one - two + start) * read[1]
        normed = difference / np.sqrt((difference**2).mean() + 1e-5)
        y[b, t] += (1 - start) * normed @ p['output'][2 * pair + member]
    return y


@pytest.mark.long
@pytest.mark.parametrize('start', [0.8, 0.2])
@pytest.mark.parametrize('kernel', [SPEC['kernel'], BLOCKWISE])
def test_it_is_its_equations(start, kernel):
    module, params = made(start=start, kernel=kernel)
    expected = looped(params, start)
    np.testing.assert_allclose(
        module.apply(params, X, CONTEXT, False), expected, rtol=0, atol=F32_RELATIVE * np.abs(expected).max()
    )


def test_the_state_holds_each_key_and_value_once():
    module, params = made()
    state = module.apply(params, X[:, :1], 5, method='init_state')
    assert state.k.shape == (B, 4, 5, 3)
    assert state.v.shape == (B, 2, 5, 6)


def test_it_has_the_products_and_parameters_of_multi_head_attention_but_for_the_four_vectors():
    _, params = made()
    _, plain = made(use='attention.multi_head:MultiHead')
    sizes = [sum(leaf.size for leaf in jax.tree.leaves(each)) for each in (params, plain)]
    assert sizes[0] == sizes[1] + 4 * 3


def test_heads_that_make_no_pairs_are_refused():
    with pytest.raises(UserError, match=r'3 key_value_heads .* even number'):
        made(heads=6, key_value_heads=3)
    with pytest.raises(UserError, match='start'):
        made(start=1.0)
