# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Recurrence over segments is a mask for what is seen, and a stop for gradients; segment by segment it is the same."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from drawn import drawn

from saccade.build import build
from saccade.types import LayerContext, Source, UserError

F32_RELATIVE = 1e-5  # of the largest element
B, T, D, M, MEMORY = 2, 12, 16, 4, 3
X = jnp.array(np.random.default_rng(0).normal(size=(B, T, D)), jnp.float32)
CONTEXT = LayerContext(jnp.tile(jnp.arange(T), (B, 1)))
# Row 0 is two documents, row 1 is padded on the left.
PACKED = LayerContext(
    jnp.array([[0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 5, 6], [0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9]]),
    jnp.array([[1] * 5 + [2] * 7, [0, 0] + [1] * 10]),
)
BLOCKWISE = {'use': 'attention.blockwise:Blockwise', 'query_block': 4, 'key_block': 3}
CAUSAL = {'use': 'ops.mask:Causal'}
SPEC = {
    'use': 'attention.segment_memory:SegmentMemory',
    'heads': 4,
    'key_value_heads': 2,
    'length': M,
    'memory': MEMORY,
    'kernel': {'use': 'attention.plain:Plain'},
    'mask': CAUSAL,
    'position': {'use': 'position.none:NoPosition'},
}
POSITIONS = {
    'waves': {'use': 'position.transformer_xl:TransformerXL', 'width': 8, 'head_width': 4},
    'rotary': {'use': 'position.rotary:Rotary'},
    'contextual': {'use': 'position.cope:CoPE', 'counts': 4, 'head_width': 4},
}


def changed(**changes):
    return {**SPEC, **changes}


def masked(spec):
    """Multi-head attention that sees what the recurrence lets it see."""
    seen = {'use': 'ops.mask:ChunkedWithMemory', 'length': spec['length'], 'memory': spec['memory']}
    rest = {name: value for name, value in spec.items() if name not in ('length', 'memory')}
    both = {'use': 'ops.mask:all_of', 'masks': [CAUSAL, seen]}
    return {**rest, 'use': 'attention.multi_head:MultiHead', 'mask': both}


@functools.cache
def params_of(position):
    return drawn(changed(position=POSITIONS[position]), X, CONTEXT)[1]


def run(spec, params, context):
    return jax.jit(lambda x: build(spec)().apply(params, x, context, False))(X)


def assert_near(given, expected):
    given, expected = np.asarray(given), np.asarray(expected)
    np.testing.assert_allclose(given, expected, rtol=0, atol=F32_RELATIVE * np.abs(expected).max())


@pytest.mark.long
@pytest.mark.parametrize('kernel', [SPEC['kernel'], BLOCKWISE])
@pytest.mark.parametrize('position', POSITIONS)
def test_what_is_seen_is_the_mask(position, kernel):
    spec, real = changed(position=POSITIONS[position], kernel=kernel), PACKED.segments != 0
    expected = run(masked(changed(position=POSITIONS[position])), params_of(position), PACKED)
    assert_near(run(spec, params_of(position), PACKED)[real], expected[real])
    causal = run({**masked(spec), 'mask': CAUSAL}, params_of(position), PACKED)
    assert np.abs(causal - expected)[real].max() > 0.01


def test_a_segment_as_long_as_the_sequence_is_causal_attention():
    spec = changed(position=POSITIONS['rotary'], length=T, memory=0)
    expected = run({**masked(spec), 'mask': CAUSAL}, params_of('rotary'), CONTEXT)
    assert_near(run(spec, params_of('rotary'), CONTEXT), expected)


@pytest.mark.long
@pytest.mark.parametrize('kernel', [SPEC['kernel'], BLOCKWISE])
def test_gradients_stop_between_segments_for_tokens_and_not_for_weights(kernel):
    spec, params = changed(position=POSITIONS['rotary'], kernel=kernel), params_of('rotary')

    def rows(spec):
        @jax.jit
        def gradients(t):
            def read(params, x):
                return jnp.sin(build(spec)().apply(params, x, CONTEXT, False)[:, t]).sum()

            return jax.grad(read, argnums=(0, 1))(params, X)

        return gradients

    ours, full = rows(spec), rows(masked(spec))
    for t in (3, 5, 11):
        reached = np.abs(ours(t)[1]).max(axis=(0, -1)) > 0
        np.testing.assert_array_equal(np.flatnonzero(reached), np.arange(t // M * M, t + 1))
        jax.tree.map(assert_near, ours(t)[0], full(t)[0])


@pytest.mark.long
def test_stepping_segment_by_segment_is_the_whole_in_a_state_of_one_segment_and_its_memory():
    module, params = build(changed(position=POSITIONS['waves']))(), params_of('waves')
    state, parts = module.init_state(X[:, :1], T), []
    assert state.k.shape[2] == M + MEMORY
    step = jax.jit(lambda *chunk: module.apply(params, *chunk, method='step'))
    for start in range(0, T, M):
        y, state = step(X[:, start : start + M], LayerContext(CONTEXT.positions[:, start : start + M]), state)
        parts.append(y)
    assert_near(jnp.concatenate(parts, axis=1), run(changed(position=POSITIONS['waves']), params, CONTEXT))


@pytest.mark.parametrize(
    ('changes', 'words'),
    [
        ({'length': 0}, 'length must be at least 1'),
        ({'memory': -1}, 'memory must be at least 0'),
        ({'kernel': {'use': 'attention.linear:Linear'}}, r'attention\.linear:Linear does not support'),
    ],
)
def test_what_does_not_fit_is_refused(changes, words):
    with pytest.raises(UserError, match=words):
        drawn(changed(**changes), X, CONTEXT)
    with pytest.raises(UserError, match='does not support cross-attention'):
        drawn(SPEC, X, CONTEXT.replace(source=Source(X, CONTEXT.positions)))
