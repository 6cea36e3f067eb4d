# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""PaTH attention against a loop that applies each token's matrix to every earlier key, and multi-head attention."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from drawn import drawn
from looped import ALONE, MULTI_HEAD, PACKED, H, K, N, T, X, assert_equals_loop, near, whole

from saccade.build import build
from saccade.types import LayerContext, UserError

PATH = MULTI_HEAD | {'use': 'attention.path:PaTH', 'chunk': 4}
GATED = {'terms': [{'use': 'score.forget_gate:ForgetGate'}]}
SHORT = {'use': 'recurrent.mixer.convolution:Convolution', 'size': 3, 'depthwise': True, 'bias': False}


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def by_loops(params, x, segments):
    """Every token first changes the keys before it, then attends to them as they are."""
    q, k, v, w = (np.einsum('td,dnh->nth', x, params[name]) for name in ('query', 'key', 'value', 'reflect'))
    b = 2 * sigmoid(x @ params['write'] + params['write_bias'])
    gates, y = np.zeros((T, N)), np.zeros((T, N, H))
    if 'term_0' in params:
        gates = np.log(sigmoid(x @ params['term_0']['kernel'] + params['term_0']['bias']))
    for i in np.flatnonzero(segments):
        seen = [j for j in range(i + 1) if segments[j] == segments[i]]
        for g in range(K):
            direction = w[g, i] / np.linalg.norm(w[g, i])
            for j in seen[:-1]:
                k[g, j] -= b[i, g] * direction * (direction @ k[g, j])
        for n in range(N):
            fade = np.array([gates[j + 1 : i + 1, n].sum() for j in seen])
            exponentials = np.exp(k[n * K // N, seen] @ q[n, i] / np.sqrt(H) + fade)
            y[i, n] = exponentials / exponentials.sum() @ v[n * K // N, seen]
    return np.einsum('tnh,nhd->td', y, params['output'])


@pytest.mark.parametrize(('context', 'more'), [(PACKED, {}), (ALONE, GATED)], ids=['packed', 'with a forget gate'])
def test_it_is_the_equation(context, more):
    assert_equals_loop(PATH | more, context, by_loops)


def test_without_a_share_it_is_multi_head_attention_without_positions():
    (path, variables), (plain, _) = (drawn(spec, X, PACKED) for spec in (PATH, MULTI_HEAD))
    params = variables['params'] | {'write_bias': jnp.full(K, -1e9)}
    near(whole(path, {'params': params}, PACKED), whole(plain, {'params': params}, PACKED))


@pytest.mark.long
def test_steps_rewrite_cached_keys_and_keep_the_convolution():
    module, variables = drawn(PATH | GATED | {'convolution': SHORT, 'rank': 3}, X, ALONE)
    step = jax.jit(lambda x, context, state: module.apply(variables, x, context, state, method='step'))
    state, parts = module.apply(variables, X, T + 1, method='init_state'), []
    for start in range(0, T, 3):
        here = slice(start, start + 3)
        before = state.kv
        part, state = step(X[:, here], LayerContext(ALONE.positions[:, here]), state)
        parts.append(part)
    near(jnp.concatenate(parts, axis=1), whole(module, variables, ALONE))
    assert state.kv.k.dtype == jnp.float32
    assert np.abs(state.kv.k - before.k)[:, :, : T - 3].max() > 0.01
    gates, same = (cache.features['term_0'][:, : T - 3] for cache in (state.kv, before))
    np.testing.assert_array_equal(gates, same)


@pytest.mark.long
def test_a_chunk_does_not_change_the_output():
    _, variables = drawn(PATH, X, PACKED)
    one, all_at_once = (drawn(PATH | {'chunk': chunk}, X, PACKED)[0] for chunk in (1, 64))
    near(whole(one, variables, PACKED), whole(all_at_once, variables, PACKED))


def test_later_tokens_and_other_sequences_are_refused_by_name():
    with pytest.raises(UserError, match=r'attention\.path:PaTH is causal.*ops\.mask:Full'):
        drawn(PATH | {'mask': {'use': 'ops.mask:Full'}}, X, ALONE)
    with pytest.raises(UserError, match='does not support cross-attention'):
        drawn(PATH, X, ALONE.replace(source=ALONE.read(X)))
    with pytest.raises(UserError, match='Cosine reads queries and keys'):
        drawn(PATH | {'terms': [{'use': 'score.cosine:Cosine'}]}, X, ALONE)
    with pytest.raises(UserError, match='rank'):
        drawn(PATH | {'rank': 0}, X, ALONE)


def test_a_block_whose_layers_share_one_state_is_refused_it():
    parts = {'mixer': PATH, 'feedforward': None, 'norm': {'use': 'norm.rms:RMSNorm'}, 'sharing': 2}
    with pytest.raises(UserError, match='is not a KVSharingMixer, as each layer changes cached keys by matrices'):
        build({'use': 'block.shared_keys:SharedKeys', **parts})
