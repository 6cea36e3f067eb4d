# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""DeepSeek sparse attention against a loop of its equations, full attention, and the gradients of its indexer."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from conformance import contracts
from conformance.layer import NotOffered
from conformance.libraries.saccade import Mixer
from saccade.attention.lightning_indexer import divergence, log_probabilities
from saccade.attention.paged import apart, joined
from saccade.build import build
from saccade.types import LayerContext, Pages, UserError

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


def by_loops(params, x, segments, chosen, pool):
    """The output of a row, and the divergence of each of its real tokens."""
    q, k, v = (np.einsum('td,dnh->nth', x, params[name]) for name in ('query', 'key', 'value'))
    index_q, index_k = np.einsum('td,dmh->mth', x, params['index_query']), x @ params['index_key']
    weight, y, distances = x @ params['index_weight'], np.zeros((T, N, H)), []
    for i in np.flatnonzero(segments):
        seen = [j for j in range(i + 1) if segments[j] == segments[i]]
        blocks = [seen[at : at + pool] for at in range(0, len(seen), pool)]
        tail = blocks.pop() if len(blocks[-1]) < pool else []
        keys = [index_k[block].mean(axis=0) for block in blocks]
        fit = [sum(weight[i, m] * max(index_q[m, i] @ key, 0) for m in range(M)) for key in keys]
        best = sorted(range(len(blocks)), key=lambda b: (-fit[b], b))[: chosen // pool]
        read = [j for b in best for j in blocks[b]] + tail
        summed = np.zeros(len(read))
        for n in range(N):
            g = n * K // N
            exponentials = np.exp([q[n, i] @ k[g, j] / np.sqrt(H) for j in read])
            weights = exponentials / exponentials.sum()
            y[i, n] = weights @ v[g, read]
            summed += weights / N
        of_blocks = summed[: len(best) * pool].reshape(-1, pool).sum(axis=-1)
        likely = np.exp([fit[b] for b in best])
        wanted, likely = of_blocks / of_blocks.sum(), likely / likely.sum()
        distances.append(np.sum(wanted * np.log(wanted / likely)))
    return np.einsum('tnh,nhd->td', y, params['output']), distances


@pytest.mark.long
@pytest.mark.parametrize('context', [ALONE, PACKED], ids=['alone', 'packed'])
@pytest.mark.parametrize(('chosen', 'pool'), [(1, 1), (4, 1), (None, 1), (2, 2), (4, 2), (3, 3), (6, 3), (None, 4)])
def test_output_and_loss_are_the_equations(chosen, pool, context):
    module = indexed(chosen, pool=pool)
    variables = drawn(module)
    found, reports = module.apply(variables, X, context, False, mutable=['losses'])
    exact, distances = jax.tree.map(np.float64, variables['params']), []
    for row in range(B):
        segments = np.asarray(context.numbered[row])
        wanted, of_row = by_loops(exact, np.float64(X[row]), segments, chosen or T, pool)
        near(found[row][segments != 0], wanted[segments != 0])
        distances += of_row
    near(reports['losses']['indexer'][0].mean(), np.mean(distances))
    assert reports['losses']['indexer'][0].weight == len(distances)


@pytest.mark.long
@pytest.mark.parametrize('context', [ALONE, PACKED], ids=['alone', 'packed'])
@pytest.mark.parametrize(('chosen', 'pool'), [(None, 1), (T, 1), (None, 3), (12, 3), (None, T), (None, T + 1)])
def test_all_keys_chosen_is_full_attention(chosen, pool, context):
    module = indexed(chosen, pool=pool)
    params = drawn(module)['params']
    rest = {name: value for name, value in params.items() if name not in OF_INDEXER}
    real = np.asarray(context.numbered) != 0
    expected = build(FULL)().apply({'params': rest}, X, context, False)[real]
    near(module.apply({'params': params}, X, context, False)[real], expected)
    assert np.abs(indexed(2).apply({'params': params}, X, context, False)[real] - expected).max() > 0.01


@pytest.mark.long
@pytest.mark.parametrize('pool', [1, 2])
def test_the_indexer_learns_by_its_loss_alone_and_nothing_else_does(pool):
    module = indexed(4, pool=pool)

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


@pytest.mark.long
@pytest.mark.parametrize('pool', [1, 2, 4])
@pytest.mark.parametrize('later', range(1, T))
def test_a_later_token_changes_no_choice_before_it(later, pool):
    """A block is scored only by queries that see all of it."""
    module = indexed(pool if pool > 1 else 2, pool=pool)
    variables = drawn(module)
    before, after = (module.apply(variables, x, ALONE, False)[:, :later] for x in (X, X.at[:, later].multiply(-30.0)))
    np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize('pool', [1, 3])
def test_each_query_has_weight_on_so_many_keys(pool):
    """Of 1 block of 3, or 3 keys; with pooling also of the tokens after the last block that it sees."""
    module = indexed(3, pool=pool)
    _, found = module.apply(drawn(module), X, ALONE, False, mutable=['pattern'])
    weights = np.asarray(found['pattern']['kernel']['pattern'].value)  # [B N T S]
    seen = np.arange(T) + 1
    counts = np.minimum(seen // pool * pool, 3) + seen % pool
    np.testing.assert_array_equal((weights > 0).sum(axis=-1)[0, 0], counts)
    np.testing.assert_array_equal(weights[:, 0] > 0, weights[:, 3] > 0)


def test_blocks_are_chosen_as_wholes_and_the_incomplete_one_is_kept():
    module = indexed(3, pool=3)
    _, found = module.apply(drawn(module), X, ALONE, False, mutable=['pattern'])
    read = np.asarray(found['pattern']['kernel']['pattern'].value)[:, 0] > 0  # [B T S]
    for i in range(T):
        whole = (i + 1) // 3 * 3
        assert read[:, i, whole : i + 1].all()
        of_blocks = read[:, i, :whole].reshape(B, -1, 3)
        np.testing.assert_array_equal(of_blocks.any(axis=-1), of_blocks.all(axis=-1))


POOLED = ['alone', 'two blocks', 'rotary, all blocks']


def pooled(case):
    """The spec of a pooled indexer, whose position scheme tells places apart."""
    rotary = {'use': 'position.rotary:Rotary'}
    changes = {
        'alone': {'chosen': 2, 'pool': 2},
        'two blocks': {'chosen': 6, 'pool': 3},
        'rotary, all blocks': {'chosen': None, 'pool': 2, 'position': rotary, 'index_position': rotary},
    }
    return INDEXED | changes[case]


@pytest.mark.long
@pytest.mark.parametrize('case', POOLED)
@pytest.mark.parametrize('contract', contracts.CONTRACTS)
def test_a_pooled_indexer_keeps_the_contracts(contract, case):
    """Causal, packed, padded, stepped, in chunks, and each of these as the whole alone, as the plain one does."""
    spec = pooled(case)
    layer = Mixer(spec, drawn(build(spec)()), (B, T))
    try:
        difference = contracts.CONTRACTS[contract].measure(layer, np.asarray(X))
    except NotOffered as reason:
        pytest.skip(str(reason))
    assert difference <= contracts.CONTRACTS[contract].tolerance


def test_a_state_holds_the_keys_of_the_indexer():
    module = indexed(3)
    state = module.bind(drawn(module)).init_state(X, 7)
    assert state.kv.k.shape == (B, K, 7, H)
    assert state.index.k.shape == (B, 1, 7, WIDTH)


def test_a_kernel_that_attends_to_no_chosen_keys_is_refused():
    with pytest.raises(UserError, match=r'kernel: attention\.linear:Linear is not a SparseKernel'):
        indexed(2, kernel={'use': 'attention.linear:Linear', 'feature': {'use': 'ops.linear_attention:elu_plus_one'}})


@pytest.mark.long
@pytest.mark.parametrize('case', POOLED)
def test_steps_of_a_pooled_indexer_with_a_cache_in_pages_equal_the_whole(case):
    """The second row is padded on the left, and its pages are not in order."""
    module, segments = build(pooled(case))(), jnp.array([[1] * T, [0] * 3 + [1] * (T - 3)])
    variables, context = drawn(module), LayerContext(jnp.maximum(jnp.cumsum(segments, axis=1) - 1, 0), segments)
    pools, rows = apart(module.apply(variables, X[:, :1], Pages(count=7, size=4, most=3), method='init_pages'))
    state, parts = joined(jax.tree.map(jnp.ones_like, pools), rows, jnp.array([[5, 0, 3], [1, 6, 2]])), []
    for chunk in (slice(0, 5), slice(5, 6), slice(6, T)):
        given = X[:, chunk], LayerContext(context.positions[:, chunk], segments[:, chunk]), state
        y, state = module.apply(variables, *given, method='step')
        parts.append(y)
    real = np.asarray(segments) != 0
    near(jnp.concatenate(parts, axis=1)[real], module.apply(variables, X, context, False)[real])


def test_a_pool_that_does_not_divide_the_choice_is_refused():
    with pytest.raises(UserError, match='pool 3 must divide chosen 4'):
        drawn(indexed(4, pool=3))


@pytest.mark.parametrize('mask', ['Full', 'CausalAfterPrefix'])
def test_a_pool_under_another_mask_is_refused(mask):
    with pytest.raises(UserError, match=f'pool 2 needs the mask ops.mask:Causal, not ops.mask:{mask}'):
        drawn(indexed(4, pool=2, mask={'use': f'ops.mask:{mask}'}))


def test_a_block_whose_layers_share_keys_is_refused_it():
    parts = {'mixer': INDEXED | {'chosen': 2}, 'feedforward': None, 'norm': {'use': 'norm.rms:RMSNorm'}, 'sharing': 2}
    with pytest.raises(UserError, match='is not a KVSharingMixer, as each layer caches the keys of its own indexer'):
        build({'use': 'block.shared_keys:SharedKeys', **parts})


@pytest.mark.long
def test_weights_that_are_all_zero_leave_the_loss_finite():
    weights, at = jnp.zeros((1, 3, 3)), jnp.broadcast_to(jnp.arange(3), (1, 1, 3, 3))
    q, k, weight = jnp.zeros((1, 3, 2, 4)), jnp.ones((1, 3, 1, 4)), jnp.ones((1, 3, 2))
    fit = lambda q: log_probabilities(q, k, weight, at)  # noqa: E731
    loss, slope = jax.value_and_grad(lambda q: divergence(weights, fit(q), None).mean())(q)
    np.testing.assert_allclose([loss, jnp.abs(slope).max()], 0.0, atol=1e-6)
