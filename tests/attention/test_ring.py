# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Decoding under a mask that looks back so far: the state holds no more, and says the same as the whole sequence."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from drawn import drawn

from saccade.build import build
from saccade.ops.mask import ChunkedWithMemory, Window
from saccade.ops.pattern import dilated_window, longformer, sparse_strided
from saccade.types import LayerContext

F32_RELATIVE = 1e-5  # of the largest element
B, T, D = 2, 13, 16
X = jnp.array(np.random.default_rng(0).normal(size=(B, T, D)), jnp.float32)
SEGMENTS = jnp.array([[1] * T, [0, 0, 0] + [1] * (T - 3)])
CONTEXT = LayerContext(jnp.maximum(jnp.cumsum(SEGMENTS, axis=1) - 1, 0), SEGMENTS)

CAUSAL = {'use': 'ops.mask:Causal'}
MULTI_HEAD = {
    'use': 'attention.multi_head:MultiHead',
    'heads': 4,
    'key_value_heads': 2,
    'kernel': {'use': 'attention.plain:Plain'},
    'mask': CAUSAL,
    'position': {'use': 'position.rotary:Rotary'},
}
LATENT = {
    **{name: MULTI_HEAD[name] for name in ('heads', 'kernel', 'mask', 'position')},
    'use': 'attention.latent:Latent',
    'rank': 5,
    'head_width': 4,
    'value_width': 6,
    'rotated_width': 2,
    'norm': {'use': 'norm.rms:RMSNorm'},
}
MIXERS = {
    'grouped': MULTI_HEAD,
    'one head': {**MULTI_HEAD, 'key_value_heads': 1, 'position': {'use': 'position.alibi:ALiBi'}},
    'a term with a carry': {**MULTI_HEAD, 'position': {'use': 'position.cope:CoPE', 'counts': 4, 'head_width': 4}},
    'differential': {**MULTI_HEAD, 'use': 'attention.differential:Differential'},
    'latent': LATENT,
    'grouped latent': {**LATENT, 'use': 'attention.grouped_latent:GroupedLatent', 'latents': 2},
}


def window(left):
    return {'use': 'ops.mask:Window', 'left': left}


# The mask, and how far it looks back. Chunks are longer and shorter than that.
MASKS = {
    'itself': (window(0), 0),
    'short': (window(2), 2),
    'longer': (window(6), 6),
    'longer than the sequence': (window(T), T),
    'chunked': (
        {'use': 'ops.mask:all_of', 'masks': [CAUSAL, {'use': 'ops.mask:Chunked', 'length': 4}]},
        3,
    ),
    'dilated': ({'use': 'ops.pattern:dilated_window', 'left': 2, 'right': 0, 'dilation': 2}, 4),
}
CHUNKS = ((5, 1, 1, 1, 1, 3, 1), (1, 3, 1, 5, 3))


@functools.cache
def params_of(mixer):
    return drawn(MIXERS[mixer], X, CONTEXT)[1]


def part(context, start, count):
    return jax.tree.map(lambda leaf: leaf[:, start : start + count], context)


@functools.cache
def made(mixer, mask):
    """The mixer under the mask, what calls it and what steps it."""
    module, params = build({**MIXERS[mixer], 'mask': MASKS[mask][0]})(), params_of(mixer)
    call = jax.jit(lambda x, context: module.apply(params, x, context, False))
    return module, call, jax.jit(lambda *chunk: module.apply(params, *chunk, method='step'))


def stepped(made, context, chunks):
    module, _, step = made
    state, parts, start = module.init_state(X[:, :1], T), [], 0
    for count in chunks:
        y, state = step(X[:, start : start + count], part(context, start, count), state)
        parts.append(y)
        start += count
    assert start == T
    return jnp.concatenate(parts, axis=1)


def assert_near(given, expected):
    given, expected = np.asarray(given), np.asarray(expected)
    np.testing.assert_allclose(given, expected, rtol=0, atol=F32_RELATIVE * np.abs(expected).max())


@pytest.mark.long
@pytest.mark.parametrize(
    ('mixer', 'mask'),
    [*((mixer, 'short') for mixer in MIXERS), *(('grouped', mask) for mask in MASKS if mask != 'short')],
)
def test_steps_replay_the_whole_sequence(mixer, mask):
    whole = made(mixer, mask)[1](X, CONTEXT)
    real = SEGMENTS != 0
    for chunks in CHUNKS:
        assert_near(stepped(made(mixer, mask), CONTEXT, chunks)[real], whole[real])


@pytest.mark.parametrize('mixer', MIXERS)
def test_the_bytes_of_the_state_do_not_grow_with_the_capacity(mixer):
    def size(capacity, mask):
        module = build({**MIXERS[mixer], 'mask': mask})()
        state = jax.eval_shape(lambda: module.init_state(X[:, :1], capacity))
        return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(state))

    for mask, lookback in MASKS.values():
        assert size(10**6, mask) == size(lookback + 1, mask) == size(lookback + 1, CAUSAL)
        assert size(lookback, mask) == size(lookback, CAUSAL)


def test_the_bytes_of_keys_and_values_are_in_proportion_to_their_heads():
    def size(heads):
        module = build({**MULTI_HEAD, 'key_value_heads': heads})()
        state = jax.eval_shape(lambda: module.init_state(X[:, :1], T))
        return state.k.size + state.v.size

    assert [size(heads) for heads in (1, 2, 4)] == [2 * B * T * heads * 4 for heads in (1, 2, 4)]


@pytest.mark.long
def test_a_row_may_wait_while_others_go_on():
    """Row 1 has a token at every other place alone: nothing of it is lost to the places between."""
    segments = jnp.array([[1] * T, [1, 0] * (T // 2) + [1]])
    context = LayerContext(jnp.cumsum(segments, axis=1) - 1, segments)
    waiting = stepped(made('grouped', 'short'), context, CHUNKS[0])[1, ::2]
    alone = made('grouped', 'short')[1](X[1:, ::2], LayerContext(jnp.arange(T // 2 + 1)[None]))
    assert_near(waiting, alone[0])


def test_lookback_is_the_furthest_key_that_is_seen():
    masks = [build(spec)() for spec, _ in MASKS.values()]
    index = jnp.arange(40)
    for mask in masks:
        allowed = np.asarray(mask(index, index))
        assert max(i - j for i, j in np.argwhere(allowed)) == mask.lookback
    assert [mask.lookback for mask in masks] == [lookback for _, lookback in MASKS.values()]
    assert (Window(2) | Window(5)).lookback == 5
    assert (Window(2) & Window(5)).lookback == 2
    assert (build(CAUSAL)() & ChunkedWithMemory(4, 2)).lookback == 5
    assert (Window(2) | build(CAUSAL)()).lookback is None
    for mask in (longformer(2, 0, 1), sparse_strided(3), dilated_window(1, 0, 2) | longformer(2, 0, 1)):
        assert mask.lookback is None
