# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""MoBA against a loop of its equation, full attention, and causality of what is chosen."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.types import LayerContext, UserError

RELATIVE = 1e-5
B, T, D, N, K, BLOCK = 2, 11, 16, 4, 2, 2
X = jax.random.normal(jax.random.key(0), (B, T, D))
SEGMENTS = jnp.array([[1] * 3 + [2] * 8, [1] * 9 + [0] * 2])
PACKED = LayerContext(jnp.array([[0, 1, 2, *range(8)], [*range(9), 0, 0]]), SEGMENTS)
ALONE = LayerContext(jnp.broadcast_to(jnp.arange(T), (B, T)))
FULL = {
    'use': 'attention.multi_head:MultiHead', 'heads': N, 'key_value_heads': K,
    'kernel': {'use': 'attention.plain:Plain'}, 'mask': {'use': 'ops.mask:Causal'},
    'position': {'use': 'position.none:NoPosition'},
}  # fmt: skip


def moba(chosen, **changes):
    return build(FULL | {'kernel': {'use': 'attention.moba:MoBA', 'block': BLOCK, 'chosen': chosen}} | changes)()


def drawn(module):
    shapes = jax.eval_shape(lambda: module.init(jax.random.key(0), X, ALONE, False))
    random = np.random.default_rng(1)
    return jax.tree.map(lambda leaf: jnp.array(random.normal(size=leaf.shape, scale=0.4), leaf.dtype), shapes)


def near(given, expected):
    given, expected = np.asarray(given), np.asarray(expected)
    np.testing.assert_allclose(given, expected, rtol=0, atol=RELATIVE * np.abs(expected).max())


def by_loops(params, x, segments, chosen):
    """Each segment alone, cut into blocks from its first token."""
    q, k, v = (np.einsum('td,dnh->nth', x, params[name]) for name in ('query', 'key', 'value'))
    y = np.zeros((len(x), N, D // N))
    for segment in set(segments.tolist()) - {0}:
        places = np.flatnonzero(segments == segment)
        blocks = [places[start : start + BLOCK] for start in range(0, len(places), BLOCK)]
        for n, (place, i) in ((n, pair) for n in range(N) for pair in enumerate(places)):
            key, own = k[n * K // N], place // BLOCK
            fit = [q[n, i] @ key[block].mean(axis=0) for block in blocks[:own]]
            best = sorted(range(own), key=lambda b: -fit[b])[: chosen - 1]
            seen = [j for b in [*best, own] for j in blocks[b] if j <= i]
            exponentials = np.exp([q[n, i] @ key[j] / np.sqrt(D // N) for j in seen])
            y[i, n] = exponentials / exponentials.sum() @ v[n * K // N, seen]
    return np.einsum('tnh,nhd->td', y, params['output'])


@pytest.mark.long
@pytest.mark.parametrize('context', [ALONE, PACKED], ids=['alone', 'packed'])
@pytest.mark.parametrize('chosen', [1, 2, 3])
def test_it_is_the_equation(chosen, context):
    module = moba(chosen)
    variables = drawn(module)
    found = module.apply(variables, X, context, False)
    exact = jax.tree.map(np.float64, variables['params'])
    for row in range(B):
        segments = np.asarray(context.numbered[row])
        wanted = by_loops(exact, np.float64(X[row]), segments, chosen)
        near(found[row][segments != 0], wanted[segments != 0])


@pytest.mark.long
@pytest.mark.parametrize('context', [ALONE, PACKED], ids=['alone', 'packed'])
def test_all_blocks_chosen_is_full_attention(context):
    variables = drawn(moba(1))
    real = np.asarray(context.numbered) != 0
    expected = build(FULL)().apply(variables, X, context, False)
    near(moba(-(-T // BLOCK)).apply(variables, X, context, False)[real], expected[real])
    assert np.abs(moba(1).apply(variables, X, context, False) - expected)[real].max() > 0.01


@pytest.mark.long
@pytest.mark.parametrize('later', range(1, T))
def test_a_later_token_changes_no_choice_before_it(later):
    module = moba(2)
    variables = drawn(module)
    changed = X.at[:, later].multiply(-30.0)
    before, after = (module.apply(variables, x, ALONE, False)[:, :later] for x in (X, changed))
    np.testing.assert_array_equal(before, after)


@pytest.mark.long
def test_each_query_has_weight_in_so_many_blocks():
    module = moba(3)
    _, found = module.apply(drawn(module), X, ALONE, False, mutable=['pattern'])
    weights = found['pattern']['kernel']['pattern'].value  # [B N T S]
    blocks = np.add.reduceat(np.asarray(weights), range(0, T, BLOCK), axis=-1) > 0
    np.testing.assert_array_equal(
        blocks.sum(axis=-1), np.broadcast_to(np.minimum(np.arange(T) // BLOCK + 1, 3), (B, N, T))
    )


@pytest.mark.parametrize(
    'changes',
    [{'mask': {'use': 'ops.mask:Full'}}, {'terms': [{'use': 'ops.term:Softcap', 'cap': 5.0}]}],
    ids=['full mask', 'score term'],
)
def test_what_it_cannot_do_is_refused_by_name(changes):
    with pytest.raises(UserError, match=r'attention\.moba:MoBA'):
        moba(2, **changes).init(jax.random.key(0), X, ALONE, False)


def test_counts_below_one_are_refused():
    with pytest.raises(UserError, match='chosen'):
        moba(0).init(jax.random.key(0), X, ALONE, False)
