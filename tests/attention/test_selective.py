# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Selective attention against a loop of its equation, multi-head attention, and its decoding cache."""

import jax
import numpy as np
import pytest
from drawn import drawn
from looped import ALONE, MULTI_HEAD, PACKED, H, K, N, T, X, assert_equals_loop, near, whole

from saccade.build import build
from saccade.types import UserError

SELECTIVE = MULTI_HEAD | {'use': 'attention.selective:Selective'}


def by_loops(params, x, segments):
    q, k, v = (np.einsum('td,dnh->nth', x, params[name]) for name in ('query', 'key', 'value'))
    y, lowered = np.zeros((T, N, H)), np.zeros(T)
    for i in np.flatnonzero(segments):
        seen = [j for j in range(i + 1) if segments[j] == segments[i]]
        for n in range(N):
            exponentials = np.exp([q[n, i] @ k[n * K // N, j] / np.sqrt(H) - lowered[j] for j in seen])
            y[i, n] = exponentials / exponentials.sum() @ v[n * K // N, seen]
        for j in seen[1:-1]:  # neither the first token nor itself
            lowered[j] += max(q[0, i] @ k[0, j] / np.sqrt(H), 0.0)
    return np.einsum('tnh,nhd->td', y, params['output'])


@pytest.mark.parametrize('context', [ALONE, PACKED], ids=['alone', 'packed'])
def test_it_is_the_equation(context):
    assert_equals_loop(SELECTIVE, context, by_loops)


def test_where_head_0_selects_nothing_it_is_multi_head_attention():
    (selective, variables), (plain, _) = (drawn(spec, X, PACKED) for spec in (SELECTIVE, MULTI_HEAD))
    query = variables['params']['query'].at[:, 0].set(0.0)
    none = {'params': variables['params'] | {'query': query}}
    near(whole(selective, none, PACKED), whole(plain, none, PACKED))
    assert np.abs(whole(selective, variables, PACKED) - whole(plain, variables, PACKED)).max() > 0.01


def test_a_state_holds_what_is_subtracted_from_each_cached_key():
    module, variables = drawn(SELECTIVE, X, ALONE)
    state = module.apply(variables, X, T + 1, method='init_state')
    step = jax.jit(lambda x, context, state: module.apply(variables, x, context, state, method='step'))
    _, state = step(X, ALONE, state)
    lowered = np.asarray(state.lowered)
    assert lowered.dtype == np.float32
    assert (lowered[:, [0, T - 1, T]] == 0).all()
    assert (lowered[:, 1 : T - 1] > 0).any()


def test_later_tokens_and_other_sequences_are_refused_by_name():
    full = SELECTIVE | {'mask': {'use': 'ops.mask:Full'}}
    with pytest.raises(UserError, match=r'attention\.selective:Selective is causal.*ops\.mask:Full'):
        drawn(full, X, ALONE)
    with pytest.raises(UserError, match='does not support cross-attention'):
        drawn(SELECTIVE, X, ALONE.replace(source=ALONE.read(X)))
    with pytest.raises(UserError, match=r'kernel: attention\.blockwise:Blockwise is not a PairKernel'):
        drawn(SELECTIVE | {'kernel': {'use': 'attention.blockwise:Blockwise'}}, X, ALONE)


def test_a_block_whose_layers_share_one_state_is_refused_it():
    parts = {'mixer': SELECTIVE, 'feedforward': None, 'norm': {'use': 'norm.rms:RMSNorm'}, 'sharing': 2}
    with pytest.raises(UserError, match='is not a KVSharingMixer, as each layer keeps what its own queries subtract'):
        build({'use': 'block.shared_keys:SharedKeys', **parts})
