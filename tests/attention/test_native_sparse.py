# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Native sparse attention against a loop of its equations, full attention, and causality of what is chosen."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.types import LayerContext, UserError

RELATIVE = 1e-5
B, T, D, N, K, H = 2, 17, 16, 4, 2, 4
LENGTH, STRIDE, BLOCK = 4, 2, 4
X = jax.random.normal(jax.random.key(0), (B, T, D))
SEGMENTS = jnp.array([[1] * 3 + [2] * 14, [1] * 15 + [0] * 2])
PACKED = LayerContext(jnp.array([[*range(3), *range(14)], [*range(15), 0, 0]]), SEGMENTS)
ALONE = LayerContext(jnp.broadcast_to(jnp.arange(T), (B, T)))
SPARSE = {
    'use': 'attention.native_sparse:NativeSparse', 'heads': N, 'key_value_heads': K,
    'kernel': {'use': 'attention.plain:Plain'}, 'mask': {'use': 'ops.mask:Causal'},
    'position': {'use': 'position.none:NoPosition'}, 'length': LENGTH, 'stride': STRIDE, 'block': BLOCK, 'window': 3,
}  # fmt: skip


def sparse(chosen=4, **changes):
    return build(SPARSE | {'chosen': chosen} | changes)()


def drawn(module):
    shapes = jax.eval_shape(lambda: module.init(jax.random.key(0), X, ALONE, False))['params']
    random = np.random.default_rng(1)
    return {'params': jax.tree.map(lambda leaf: jnp.array(random.normal(size=leaf.shape, scale=0.4)), shapes)}


def near(given, expected):
    given, expected = np.asarray(given), np.asarray(expected)
    np.testing.assert_allclose(given, expected, rtol=0, atol=RELATIVE * np.abs(expected).max())


def attend(q, k, v, seen):
    """Softmax attention of one query to the keys of a list of places."""
    if not seen:
        return np.zeros(H), {}
    exponentials = np.exp([q @ k[j] / np.sqrt(H) for j in seen])
    weights = exponentials / exponentials.sum()
    return weights @ np.array([v[j] for j in seen]), dict(zip(seen, weights, strict=True))


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def compressed(params, name, tokens):
    """One vector of LENGTH keys or values."""
    x = tokens + params[f'compressed_{name}_places']
    return gelu(np.einsum('lh,lhd->d', x, params[f'compressed_{name}_1'])) @ params[f'compressed_{name}_2']


def by_loops(params, x, chosen):
    """One segment: compressed blocks, chosen blocks and the window of each query and head, one by one."""
    length = len(x)
    q, ks, vs = (np.einsum('td,dnh->nth', x, params[name]) for name in ('query', 'key', 'value'))
    ks, vs = ks.reshape(3, K, length, H), vs.reshape(3, K, length, H)
    starts = range(0, max(length - LENGTH + 1, 0), STRIDE)
    y, gates = np.zeros((length, N, H)), 1 / (1 + np.exp(-np.einsum('td,dna->tna', x, params['branch_gate'])))
    for i in range(length):
        for g in range(K):
            heads = range(g * N // K, (g + 1) * N // K)
            ck = {s: compressed(params, 'key', ks[0, g, s : s + LENGTH]) for s in starts}
            cv = {s: compressed(params, 'value', vs[0, g, s : s + LENGTH]) for s in starts}
            first = {n: attend(q[n, i], ck, cv, [s for s in starts if s + LENGTH - 1 <= i]) for n in heads}
            own = i // BLOCK
            importance = dict.fromkeys(range(own + 1), 0.0)
            for _, weights in first.values():
                for s, weight in weights.items():
                    for j in range(s, s + LENGTH):
                        importance[j // BLOCK] += weight
            always = {0, own, max(own - 1, 0)}
            others = sorted(set(importance) - always, key=lambda b: -importance[b])[: chosen - len(always)]
            seen = [j for b in sorted(always | set(others)) for j in range(b * BLOCK, (b + 1) * BLOCK) if j <= i]
            for n in heads:
                outputs = [
                    first[n][0],
                    attend(q[n, i], ks[1, g], vs[1, g], seen)[0],
                    attend(q[n, i], ks[2, g], vs[2, g], range(max(i - 2, 0), i + 1))[0],
                ]
                y[i, n] = sum(gate * output for gate, output in zip(gates[i, n], outputs, strict=True))
    return np.einsum('tnh,nhd->td', y, params['output'])


@pytest.mark.long
@pytest.mark.parametrize('context', [ALONE, PACKED], ids=['alone', 'packed'])
@pytest.mark.parametrize('chosen', [3, 4])
def test_it_is_the_equation_by_segments(chosen, context):
    module = sparse(chosen)
    variables = drawn(module)
    found = module.apply(variables, X, context, False)
    exact = jax.tree.map(np.float64, variables['params'])
    for row in range(B):
        numbers = np.asarray(context.numbered[row])
        for segment in set(numbers.tolist()) - {0}:
            places = np.flatnonzero(numbers == segment)
            near(found[row][places], by_loops(exact, np.float64(X[row])[places], chosen))


@pytest.mark.long
@pytest.mark.parametrize('context', [ALONE, PACKED], ids=['alone', 'packed'])
@pytest.mark.parametrize('branch', [1, 2], ids=['chosen', 'window'])
def test_a_branch_that_sees_all_is_full_attention(branch, context):
    """With every block chosen, and with a window of the whole row; the gates of the other branches are shut."""
    module = sparse(chosen=9, window=T)
    params = drawn(module)['params']
    x = X.at[..., 0].set(1.0)
    gates = jnp.full((D, N, 3), 0.0).at[0].set(jnp.where(jnp.arange(3) == branch, 100.0, -100.0))
    full = build(
        {name: value for name, value in SPARSE.items() if name not in ('length', 'stride', 'block', 'window')}
        | {'use': 'attention.multi_head:MultiHead'}
    )()
    own = {name: params[name].reshape(D, 3, K, H)[:, branch] for name in ('key', 'value')}
    expected = full.apply(
        {'params': {**own, **{name: params[name] for name in ('query', 'output')}}}, x, context, False
    )
    found = module.apply({'params': params | {'branch_gate': gates}}, x, context, False)
    real = np.asarray(context.numbered) != 0
    near(found[real], expected[real])


@pytest.mark.long
@pytest.mark.parametrize('later', [1, 4, 9, 16])
def test_a_later_token_changes_no_choice_before_it(later):
    module = sparse()
    variables = drawn(module)
    before, after = (module.apply(variables, x, ALONE, False)[:, :later] for x in (X, X.at[:, later].multiply(-30.0)))
    np.testing.assert_array_equal(before, after)


@pytest.mark.long
def test_the_choice_is_of_all_heads_of_a_group():
    """Else the keys of a group would have to be read once for each of its heads."""
    module = sparse()
    _, found = module.apply(
        drawn(module),
        X,
        ALONE,
        False,
        mutable=['pattern'],
    )
    chosen = np.asarray(found['pattern']['kernel']['pattern'].value).reshape(B, K, N // K, T, T) > 0
    np.testing.assert_array_equal(chosen[:, :, 0], chosen[:, :, 1])
    assert (chosen[:, 0] != chosen[:, 1]).any()


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        ({'mask': {'use': 'ops.mask:Full'}}, 'Causal'),
        ({'terms': [{'use': 'ops.term:Softcap', 'cap': 5.0}]}, 'Softcap'),
        ({'stride': 3}, 'stride 3 must divide length 4 and block 4'),
        ({'chosen': 2}, 'chosen must be at least 3'),
    ],
    ids=['full mask', 'score term', 'stride', 'chosen'],
)
def test_what_it_cannot_do_is_refused_by_name(changes, message):
    with pytest.raises(UserError, match=message) as found:
        sparse(**changes).init(jax.random.key(0), X, ALONE, False)
    assert 'attention.native_sparse:NativeSparse' in str(found.value)


def test_a_kernel_that_attends_to_no_chosen_keys_is_refused():
    with pytest.raises(UserError, match=r'kernel: attention\.linear:Linear is not a SparseKernel'):
        sparse(kernel={'use': 'attention.linear:Linear', 'feature': {'use': 'ops.linear_attention:elu_plus_one'}})
