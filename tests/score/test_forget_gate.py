# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Forgetting attention, whose term reads the input of its layer, against loops, ALiBi and multi-head attention."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.types import KeyFeatures, LayerContext, UserError

RELATIVE = 1e-5
B, T, D, N, K = 2, 11, 16, 4, 2
GATE = {'use': 'score.forget_gate:ForgetGate'}
X = jax.random.normal(jax.random.key(0), (B, T, D))
SEGMENTS = jnp.array([[1] * 5 + [2] * 6, [1] * 8 + [0] * 3])
POSITIONS = jnp.array([[*range(5), *range(6)], [*range(8), 0, 0, 0]])
ALONE = LayerContext(jnp.broadcast_to(jnp.arange(T), (B, T)))


def attention(*terms, kernel='plain:Plain', mask='Causal', **changes):
    own = {
        'use': 'attention.multi_head:MultiHead',
        'heads': N,
        'key_value_heads': K,
        'kernel': {'use': f'attention.{kernel}'} | ({'query_block': 4, 'key_block': 3} if 'block' in kernel else {}),
        'mask': {'use': f'ops.mask:{mask}'} | ({'left': 3} if mask == 'Window' else {}),
        'position': {'use': 'position.none:NoPosition'},
        'terms': list(terms),
    }
    return build(own | changes)()


def drawn(module):
    shapes = jax.eval_shape(lambda: module.init(jax.random.key(0), X, ALONE, False))['params']
    random = np.random.default_rng(1)
    return jax.tree.map(lambda leaf: jnp.array(random.normal(size=leaf.shape, scale=0.4), leaf.dtype), shapes)


def run(module, params, context=ALONE, x=X):
    return module.apply({'params': params}, x, context, False)


def near(given, expected):
    given, expected = np.asarray(given), np.asarray(expected)
    np.testing.assert_allclose(given, expected, rtol=0, atol=RELATIVE * np.abs(expected).max())


def by_loops(params, x, segments, left):
    """One row, one head, one pair at a time."""
    q, k, v = (np.einsum('td,dnh->nth', x, params[name]) for name in ('query', 'key', 'value'))
    gates = 1 / (1 + np.exp(-(x @ params['term_0']['kernel'] + params['term_0']['bias'])))
    y = np.zeros((T, N, D // N))
    for n in range(N):
        for i in range(T):
            seen = [j for j in range(max(0, i - left), i + 1) if segments[j] == segments[i] != 0]
            scores = [
                q[n, i] @ k[n * K // N, j] / np.sqrt(D // N) + sum(np.log(gates[t, n]) for t in range(j + 1, i + 1))
                for j in seen
            ]
            if seen:
                weights = np.exp(scores) / np.exp(scores).sum()
                y[i, n] = weights @ v[n * K // N, seen]
    return np.einsum('tnh,nhd->td', y, params['output'])


@pytest.mark.long
@pytest.mark.parametrize('kernel', ['plain:Plain', 'blockwise:Blockwise'])
@pytest.mark.parametrize('mask', ['Causal', 'Window'])
def test_it_is_the_equation(kernel, mask):
    module = attention(GATE, kernel=kernel, mask=mask)
    params = drawn(module)
    found = run(module, params, LayerContext(POSITIONS, SEGMENTS))
    plain = jax.tree.map(np.float64, params)
    for row in range(B):
        wanted = by_loops(plain, np.float64(X[row]), np.asarray(SEGMENTS[row]), 3 if mask == 'Window' else T)
        real = np.asarray(SEGMENTS[row]) != 0
        near(found[row][real], wanted[real])


@pytest.mark.long
@pytest.mark.parametrize('mask', ['Causal', 'Window'])
def test_gradients_by_blocks_are_those_of_the_whole_matrix(mask):
    by_matrix, by_blocks = (
        attention(GATE, GATE, kernel=name, mask=mask) for name in ('plain:Plain', 'blockwise:Blockwise')
    )
    params, context = drawn(by_matrix), LayerContext(POSITIONS, SEGMENTS)

    def gradients(module):
        return jax.grad(lambda params: jnp.square(run(module, params, context)).sum())(params)

    expected = gradients(by_matrix)
    jax.tree.map(near, gradients(by_blocks), expected)
    assert min(np.abs(leaf).max() for leaf in jax.tree.leaves(expected)) > 0.01


@pytest.mark.long
def test_open_gates_are_multi_head_attention():
    module, plain = attention(GATE), attention()
    params = drawn(module)
    gate = {'kernel': jnp.zeros((D, N)), 'bias': jnp.full(N, 100.0)}
    own = {name: leaf for name, leaf in params.items() if name != 'term_0'}
    np.testing.assert_array_equal(run(module, {**params, 'term_0': gate}), run(plain, own))


@pytest.mark.long
def test_gates_of_one_strength_are_alibi():
    bias = jnp.array([-1.0, 0.0, 1.0, 2.0])
    slopes = (-jax.nn.log_sigmoid(bias)).tolist()
    module, alibi = attention(GATE), attention({'use': 'ops.term:LinearBias', 'slopes': slopes})
    params = drawn(module)
    own = {name: leaf for name, leaf in params.items() if name != 'term_0'}
    near(run(module, {**params, 'term_0': {'kernel': jnp.zeros((D, N)), 'bias': bias}}), run(alibi, own))


@pytest.mark.long
@pytest.mark.parametrize('other', ['score.cosine:Cosine', 'score.squared_distance:SquaredDistance'])
@pytest.mark.parametrize('first', [True, False])
def test_other_terms_read_the_keys_alone_and_the_order_stays(other, first):
    both = [{'use': other}, GATE] if first else [GATE, {'use': other}]
    module, open_gates = attention(*both), attention({'use': other})
    params = drawn(module)
    name, others = ('term_1', 'term_0') if first else ('term_0', 'term_1')
    gate = {'kernel': jnp.zeros((D, N)), 'bias': jnp.full(N, 100.0)}
    own = {key: leaf for key, leaf in params.items() if not key.startswith('term')}
    own |= {'term_0': params[others]} if others in params else {}
    near(run(module, {**params, name: gate}), run(open_gates, own))


@pytest.mark.long
def test_a_softcap_after_the_gates_bounds_them_and_one_before_does_not():
    cap = {'use': 'ops.term:Softcap', 'cap': 1.0}
    after, before = (attention(*terms) for terms in ([GATE, cap], [cap, GATE]))
    params = drawn(after)
    moved = {**params, 'term_1': params['term_0']}
    del moved['term_0']
    assert np.abs(run(after, params) - run(before, moved)).max() > 0.01


@pytest.mark.long
@pytest.mark.parametrize('mask', ['Causal', 'Window'])
@pytest.mark.parametrize('chunks', [(1,) * T, (4, 1, 6)])
def test_steps_replay_the_whole_with_gates_from_the_cache(mask, chunks):
    module = attention(GATE, mask=mask, fused=True, head_norm={'use': 'norm.rms:RMSNorm'})
    params, found = drawn(module), []
    state = module.apply({'params': params}, X[:, :1], T, method='init_state')
    for here in np.split(np.arange(T), np.cumsum(chunks)[:-1]):
        context = LayerContext(ALONE.positions[:, here], jnp.ones((B, len(here)), jnp.int32))
        y, state = module.apply({'params': params}, X[:, here], context, state, method='step')
        found.append(y)
    near(jnp.concatenate(found, axis=1), run(module, params))


@pytest.mark.long
def test_it_is_a_part_that_reads_the_input_and_no_other_sequence():
    assert isinstance(build(GATE)(), KeyFeatures)
    source = LayerContext(ALONE.positions, source=ALONE.read(X))
    with pytest.raises(UserError, match='has no distance'):
        attention(GATE, mask='Full').init(jax.random.key(0), X, source, False)
