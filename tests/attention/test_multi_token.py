# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Multi-token attention against a loop of its equation, multi-head attention, and its cache of queries."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from drawn import drawn
from looped import ALONE, MULTI_HEAD, PACKED, B, H, K, N, T, X, assert_equals_loop, near, whole

from saccade.build import build
from saccade.types import LayerContext, UserError

SIZES = {
    'query_size': 3, 'key_size': 5, 'mixed': 2, 'after_query_size': 2, 'after_key_size': 3, 'after_mixed': 4,
}  # fmt: skip
MULTI_TOKEN = MULTI_HEAD | {'use': 'attention.multi_token:MultiToken'} | SIZES


def convolved(scores, kernel, same):
    """Of scores [N T T] that are 0 where not allowed: every tap on a query and a key of the row."""
    out, (_, queries, keys) = np.zeros_like(scores), kernel.shape
    for n, i, j in np.argwhere(np.ones_like(scores)):
        for a, c in np.ndindex(queries, keys):
            at, of = i - (queries - 1 - a), j + c - keys // 2
            if at >= 0 and same[at, i] and 0 <= of < T:
                out[n, i, j] += kernel[n, a, c] * scores[n, at, of]
    return out


def mixed(scores, matrices):
    size = matrices.shape[-1]
    groups = [np.einsum('mts,mn->nts', scores[size * x : size * (x + 1)], of) for x, of in enumerate(matrices)]
    return np.concatenate(groups)


def by_loops(params, x, segments):
    q, k, v = (np.einsum('td,dnh->nth', x, params[name]) for name in ('query', 'key', 'value'))
    same = (segments[:, None] == segments) & (segments != 0)
    allowed = same & np.tri(T, dtype=bool)
    scores = np.where(allowed, np.einsum('nth,nsh->nts', q, k.repeat(N // K, axis=0)) / np.sqrt(H), 0.0)
    scores = mixed(convolved(scores, params['scores_kernel'], same), params['scores_heads'])
    exponentials = np.where(allowed, np.exp(scores), 0.0)
    weights = exponentials / np.maximum(exponentials.sum(axis=-1, keepdims=True), 1e-30)
    weights = np.where(allowed, convolved(weights, params['weights_kernel'], same), 0.0)
    weights = mixed(weights, params['weights_heads'])
    read = np.einsum('nts,nsh->tnh', weights, v.repeat(N // K, axis=0))
    return np.einsum('tnh,nhd->td', read, params['output'])


@pytest.mark.parametrize('context', [ALONE, PACKED], ids=['alone', 'packed'])
def test_it_is_the_equation(context):
    assert_equals_loop(MULTI_TOKEN, context, by_loops)


@pytest.mark.long
def test_at_first_it_is_multi_head_attention():
    module, _ = drawn(MULTI_TOKEN, X, PACKED)
    variables = jax.jit(lambda key: module.init(key, X, PACKED, False))(jax.random.key(1))
    near(whole(module, variables, PACKED), whole(drawn(MULTI_HEAD, X, PACKED)[0], variables, PACKED))


@pytest.mark.long
def test_steps_skip_padding_between_the_tokens_of_a_row():
    """One row waits a step: its queries and keys on either side are neighbours all the same."""
    module, variables = drawn(MULTI_TOKEN, X, ALONE)
    step = jax.jit(lambda x, context, state: module.apply(variables, x, context, state, method='step'))
    state, parts = module.apply(variables, X[:, :1], T + 3, method='init_state'), []
    for first, second in (((0, 1, 2), (0, 1, 2)), ((3, 4, 5), (3, -1, -1)), ((6, 7, 8), (4, 5, 6))):
        at = jnp.array([first, second])
        x = jnp.where((at >= 0)[..., None], jnp.stack([row[i] for row, i in zip(X, at, strict=True)]), 100.0)
        part, state = step(x, LayerContext(jnp.maximum(at, 0), (at >= 0).astype(int)), state)
        parts.append((at, part))
    expected = whole(module, variables, ALONE)
    assert state.queries.k.shape == (B, N, 3, H)
    for row in range(B):
        for at, part in parts:
            near(part[row][at[row] >= 0], expected[row][at[row][at[row] >= 0]])


@pytest.mark.parametrize(
    ('change', 'words'),
    [
        ({'key_size': 4}, 'key_size must be odd'),
        ({'after_mixed': 3}, 'after_mixed=3 does not divide 4 heads'),
        ({'query_size': 0}, 'query_size'),
        ({'mask': {'use': 'ops.mask:Full'}}, r'attention\.multi_token:MultiToken is causal'),
    ],
)
def test_what_it_cannot_do_is_refused_by_name(change, words):
    with pytest.raises(UserError, match=words):
        drawn(MULTI_TOKEN | change, X, ALONE)


def test_a_block_whose_layers_share_one_state_is_refused_it():
    parts = {'mixer': MULTI_TOKEN, 'feedforward': None, 'norm': {'use': 'norm.rms:RMSNorm'}, 'sharing': 2}
    with pytest.raises(UserError, match='is not a KVSharingMixer, as each layer caches queries of its own'):
        build({'use': 'block.shared_keys:SharedKeys', **parts})
