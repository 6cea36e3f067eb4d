# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""DeepSeek sparse attention against a loop of its equations, full attention, and the gradients of its indexer."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.attention.lightning_indexer import divergence
from saccade.build import build
from saccade.types import LayerContext, UserError

RELATIVE = 1e-5
B, T, D, N, K, H, M, WIDTH = 2, 11, 16, 4, 2, 4, 3, 6
X = jax.random.normal(jax.random.key(0), (B, T, D))
SEGMENTS = jnp.array([[1] * 3 + [2] * 8, [1] * 9 + [0] * 2])
PACKED = LayerContext(jnp.array([[0, 1, 2, *range(8)], [*range(9), 0, 0]]), SEGMENTS)
ALONE = LayerContext(jnp.broadcast_to(jnp.arange(T), (B, T)))
FULL = {
    'use': 'attention.multi_head:MultiHead', 'heads': N, 'key_value_heads': K,
    'kernel': {'use': 'attention.plain:Plain'}, 'mask': {'use': 'ops.mask:Causal'},
    'position': {'use': 'position.none:NoPosition'},
}  # fmt: skip
INDEXED = FULL | {
    'use': 'attention.lightning_indexer:LightningIndexer', 'index_heads': M, 'index_width': WIDTH,
    'index_position': {'use': 'position.none:NoPosition'},
}  # fmt: skip
OF_INDEXER = ('index_query', 'index_key', 'index_weight')


def indexed(chosen, **changes):
    return build(INDEXED | {'chosen': chosen} | changes)()


def drawn(module):
    shapes = jax.eval_shape(lambda: module.init(jax.random.key(0), X, ALONE, False))['params']
    random = np.random.default_rng(1)
    return {'params': jax.tree.map(lambda leaf: jnp.array(random.normal(size=leaf.shape, scale=0.4)), shapes)}


def near(given, expected):
    given, expected = np.asarray(given), np.asarray(expected)
    np.testing.assert_allclose(given, expected, rtol=0, atol=RELATIVE * np.abs(expected).max())


def by_loops(params, x, segments, chosen):
    """The output of a row, and the divergence of each of its real tokens."""
    q, k, v = (np.einsum('td,dnh->nth', x, params[name]) for name in ('query', 'key', 'value'))
    index_q, index_k = np.einsum('td,dmh->mth', x, params['index_query']), x @ params['index_key']
    weight, y, distances = x @ params['index_weight'], np.zeros((T, N, H)), []
    for i in np.flatnonzero(segments):
        seen = [j for j in range(i + 1) if segments[j] == segments[i]]
        fit = {j: sum(weight[i, m] * max(index_q[m, i] @ index_k[j], 0) for m in range(M)) for j in seen}
        best = sorted(seen, key=lambda j: (-fit[j], j))[:chosen]
        summed = np.zeros(len(best))
        for n in range(N):
            g = n * K // N
            exponentials = np.exp([q[n, i] @ k[g, j] / np.sqrt(H) for j in best])
            weights = exponentials / exponentials.sum()
            y[i, n] = weights @ v[g, best]
            summed += weights / N
        likely = np.exp([fit[j] for j in best])
        distances.append(np.sum(summed * np.log(summed / (likely / likely.sum()))))
    return np.einsum('tnh,nhd->td', y, params['output']), distances


@pytest.mark.long
@pytest.mark.parametrize('context', [ALONE, PACKED], ids=['alone', 'packed'])
@pytest.mark.parametrize('chosen', [1, 4, None])
def test_output_and_loss_are_the_equations(chosen, context):
    module = indexed(chosen)
    variables = drawn(module)
    found, reports = module.apply(variables, X, context, False, mutable=['losses'])
    exact, distances = jax.tree.map(np.float64, variables['params']), []
    for row in range(B):
        segments = np.asarray(context.numbered[row])
        wanted, of_row = by_loops(exact, np.float64(X[row]), segments, T if chosen is None else chosen)
        near(found[row][segments != 0], wanted[segments != 0])
        distances += of_row
    near(reports['losses']['indexer'][0].mean(), np.mean(distances))
    assert reports['losses']['indexer'][0].weight == len(distances)


@pytest.mark.long
@pytest.mark.parametrize('context', [ALONE, PACKED], ids=['alone', 'packed'])
@pytest.mark.parametrize('chosen', [None, T])
def test_all_keys_chosen_is_full_attention(chosen, context):
    module = indexed(chosen)
    params = drawn(module)['params']
    rest = {name: value for name, value in params.items() if name not in OF_INDEXER}
    real = np.asarray(context.numbered) != 0
    expected = build(FULL)().apply({'params': rest}, X, context, False)[real]
    near(module.apply({'params': params}, X, context, False)[real], expected)
    assert np.abs(indexed(2).apply({'params': params}, X, context, False)[real] - expected).max() > 0.01


@pytest.mark.long
def test_the_indexer_learns_by_its_loss_alone_and_nothing_else_does():
    module = indexed(4)

    def by(part):
        def value(params, x):
            y, reports = module.apply({'params': params}, x, ALONE, False, mutable=['losses'])
            return part(y, reports['losses']['indexer'][0].mean())

        return jax.grad(value, (0, 1))(drawn(module)['params'], X)

    of_output, of_loss = by(lambda y, _: jnp.sum(jnp.sin(y))), by(lambda _, loss: loss)
    for gradients, moved in ((of_output[0], False), (of_loss[0], True)):
        for name, gradient in gradients.items():
            assert (np.abs(gradient).max() > 0) == ((name in OF_INDEXER) == moved), name
    assert np.abs(of_loss[1]).max() == 0


@pytest.mark.parametrize('later', range(1, T))
def test_a_later_token_changes_no_choice_before_it(later):
    module = indexed(2)
    variables = drawn(module)
    before, after = (module.apply(variables, x, ALONE, False)[:, :later] for x in (X, X.at[:, later].multiply(-30.0)))
    np.testing.assert_array_equal(before, after)


def test_each_query_has_weight_on_so_many_keys():
    module = indexed(3)
    _, found = module.apply(drawn(module), X, ALONE, False, mutable=['pattern'])
    weights = np.asarray(found['pattern']['kernel']['pattern'].value)  # [B N T S]
    np.testing.assert_array_equal((weights > 0).sum(axis=-1)[0, 0], np.minimum(np.arange(T) + 1, 3))
    np.testing.assert_array_equal(weights[:, 0] > 0, weights[:, 3] > 0)


def test_a_state_holds_the_keys_of_the_indexer():
    module = indexed(3)
    state = module.bind(drawn(module)).init_state(X, 7)
    assert state.kv.k.shape == (B, K, 7, H)
    assert state.index.k.shape == (B, 1, 7, WIDTH)


def test_a_kernel_that_attends_to_no_chosen_keys_is_refused():
    with pytest.raises(UserError, match=r'kernel: attention\.linear:Linear is not a SparseKernel'):
        indexed(2, kernel={'use': 'attention.linear:Linear', 'feature': {'use': 'ops.linear_attention:elu_plus_one'}})


def test_a_block_whose_layers_share_keys_is_refused_it():
    parts = {'mixer': INDEXED | {'chosen': 2}, 'feedforward': None, 'norm': {'use': 'norm.rms:RMSNorm'}, 'sharing': 2}
    with pytest.raises(UserError, match='is not a KVSharingMixer, as each layer caches the keys of its own indexer'):
        build({'use': 'block.shared_keys:SharedKeys', **parts})


@pytest.mark.long
def test_weights_that_are_all_zero_leave_the_loss_finite():
    weights, at = jnp.zeros((1, 3, 3)), jnp.broadcast_to(jnp.arange(3), (1, 1, 3, 3))
    q, k, weight = jnp.zeros((1, 3, 2, 4)), jnp.ones((1, 3, 1, 4)), jnp.ones((1, 3, 2))
    loss, slope = jax.value_and_grad(lambda q: divergence(weights, q, k, weight, at, None).mean())(q)
    np.testing.assert_allclose([loss, jnp.abs(slope).max()], 0.0, atol=1e-6)
