# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Keys and values that are parameters, against a loop and against tokens that stand in their place."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from drawn import drawn

from saccade.build import build
from saccade.types import LayerContext, UserError

F32_RELATIVE = 1e-5  # of the largest element
B, T, D, N, K, H, M = 2, 7, 16, 4, 2, 4, 3
X = jnp.array(np.random.default_rng(0).normal(size=(B, T, D)), jnp.float32)
SEGMENTS = jnp.array([[1] * T, [0, 0] + [1] * (T - 2)])
CONTEXT = LayerContext(jnp.maximum(jnp.cumsum(SEGMENTS, axis=1) - 1, 0), SEGMENTS)
REAL = SEGMENTS != 0
CAUSAL, WINDOW = {'use': 'ops.mask:Causal'}, {'use': 'ops.mask:Window', 'left': 2}
PLAIN = {'use': 'attention.plain:Plain'}
BLOCKWISE = {'use': 'attention.blockwise:Blockwise', 'query_block': 4, 'key_block': 2}
SPEC = {
    'use': 'attention.persistent_memory:PersistentMemory',
    'heads': N,
    'key_value_heads': K,
    'count': M,
    'kernel': PLAIN,
    'mask': CAUSAL,
    'position': {'use': 'position.none:NoPosition'},
}


def changed(**changes):
    return {**SPEC, **changes}


def run(spec, params, x=X, context=CONTEXT):
    return jax.jit(lambda x: build(spec)().apply(params, x, context, False))(x)


def assert_near(given, expected):
    given, expected = np.asarray(given), np.asarray(expected)
    np.testing.assert_allclose(given, expected, rtol=0, atol=F32_RELATIVE * np.abs(expected).max())


@pytest.mark.parametrize('kernel', [PLAIN, BLOCKWISE])
def test_it_is_its_equation_and_a_bias_is_of_the_tokens_alone(kernel):
    spec = changed(kernel=kernel, mask=WINDOW, position={'use': 'position.alibi:ALiBi'})
    params = drawn(spec, X, CONTEXT)[1]
    p = {name: np.asarray(leaf) for name, leaf in params['params'].items()}
    assert p['memory_key'].shape == p['memory_value'].shape == (M, K, H)
    q, k, v = (np.einsum('btd,dnh->btnh', X, p[name]) for name in ('query', 'key', 'value'))
    slopes = [2.0 ** (-8 * (n + 1) / N) for n in range(N)]
    expected = np.zeros((B, T, D), np.float32)
    for b, t, n in np.ndindex(B, T, N):
        seen = [s for s in range(max(t - 2, 0), t + 1) if SEGMENTS[b, s]]
        scores = [q[b, t, n] @ p['memory_key'][m, n // 2] / 2 for m in range(M)]
        scores += [q[b, t, n] @ k[b, s, n // 2] / 2 - slopes[n] * (t - s) for s in seen]
        values = np.concatenate([p['memory_value'][:, n // 2], v[b, seen, n // 2]])
        weights = np.exp(scores) / np.exp(scores).sum()
        expected[b, t] += weights @ values @ p['output'][n]
    assert_near(run(spec, params)[REAL], expected[REAL])


def test_it_is_tokens_that_all_others_see():
    params = drawn(SPEC, X, CONTEXT)[1]['params']
    first = jnp.array(np.random.default_rng(3).normal(size=(M, D)), jnp.float32)
    memory = {f'memory_{name}': jnp.einsum('md,dkh->mkh', first, params[name]) for name in ('key', 'value')}
    tokens = jnp.concatenate([jnp.broadcast_to(first, (B, M, D)), X], axis=1)
    seen = {'use': 'ops.pattern:prefix_lm', 'count': M}
    multi_head = {name: value for name, value in SPEC.items() if name != 'count'}
    multi_head |= {'use': 'attention.multi_head:MultiHead', 'mask': seen}
    plain = {name: leaf for name, leaf in params.items() if not name.startswith('memory')}
    context = LayerContext(jnp.tile(jnp.arange(M + T), (B, 1)))
    expected = run(multi_head, {'params': plain}, tokens, context)[:, M:]
    assert_near(run(SPEC, {'params': {**params, **memory}}, X, LayerContext(jnp.tile(jnp.arange(T), (B, 1)))), expected)


@pytest.mark.long
@pytest.mark.parametrize(
    'changes',
    [
        {'mask': WINDOW, 'position': {'use': 'position.rotary:Rotary'}},
        {'position': {'use': 'position.cope:CoPE', 'counts': 4, 'head_width': H}},
        {'terms': [{'use': 'score.forget_gate:ForgetGate'}]},
    ],
)
def test_steps_replay_the_whole_and_the_state_does_not_hold_the_memory(changes):
    spec = changed(**changes)
    module, params = drawn(spec, X, CONTEXT)
    assert params['params']['memory_key'].shape == (M, K, H)  # without features that terms read
    state, parts, start = module.init_state(X[:, :1], T), [], 0
    without = build({**{name: spec[name] for name in spec if name != 'count'}, 'use': 'attention.multi_head:MultiHead'})
    same = without().init_state(X[:, :1], T)
    assert [leaf.shape for leaf in jax.tree.leaves(state)] == [leaf.shape for leaf in jax.tree.leaves(same)]
    step = jax.jit(lambda *chunk: module.apply(params, *chunk, method='step'))
    for count in (4, 1, 2):
        here = slice(start, start + count)
        context = jax.tree.map(lambda leaf, here=here: leaf[:, here], CONTEXT)
        y, after = step(X[:, here], context, state)
        assert jax.tree.structure(after) == jax.tree.structure(state)
        parts, state, start = [*parts, y], after, start + count
    for kernel in (PLAIN, BLOCKWISE):
        assert_near(jnp.concatenate(parts, axis=1)[REAL], run({**spec, 'kernel': kernel}, params)[REAL])


@pytest.mark.parametrize(
    ('changes', 'words'),
    [
        ({'count': 0}, 'count must be at least 1'),
        ({'kernel': {'use': 'attention.linear:Linear'}}, r'score-based kernel, which attention\.linear:Linear is not'),
    ],
)
def test_what_does_not_fit_is_refused(changes, words):
    with pytest.raises(UserError, match=words):
        drawn(changed(**changes), X, CONTEXT)
