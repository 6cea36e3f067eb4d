# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Position schemes at work in attention: block by block, in packed rows, at any length, and shared by layers."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.types import LayerContext, UserError

F32_RELATIVE = 1e-5  # of the largest element
LINEAR_EXPONENT = 1.1
B, T, D, H = 2, 11, 16, 4
X = jnp.array(np.random.default_rng(0).normal(size=(B, T, D)), jnp.float32)
CONTEXT = LayerContext(jnp.tile(jnp.arange(T), (B, 1)))
PACKED = LayerContext(
    jnp.array([[0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]]),
    jnp.array([[1] * 5 + [2] * 5 + [0], [1] * 11]),
)

PLAIN = {'use': 'attention.plain:Plain'}
BLOCKWISE = {'use': 'attention.blockwise:Blockwise', 'query_block': 4, 'key_block': 3}
SCHEMES = {
    'alibi': {'use': 'position.alibi:ALiBi'},
    'xpos': {'use': 'position.xpos:XPos', 'unit': 8.0},
    'rotary': {
        'use': 'position.rotary:Rotary',
        'scaling': {'use': 'ops.rotary:yarn', 'factor': 2.0, 'context_length': 8},
    },
    'partial rotary': {'use': 'position.rotary:Rotary', 'share': 0.5, 'pairing': {'use': 'ops.rotary:neighbours'}},
    'rotary_2d': {'use': 'position.rotary_2d:Rotary2D', 'columns': 3},
    'relative_bias': {'use': 'position.relative_bias:RelativeBias', 'buckets': 8, 'furthest': 20, 'both_sides': True},
    'shaw': {'use': 'position.shaw:Shaw', 'reach': 3, 'head_width': H},
    'transformer_xl': {'use': 'position.transformer_xl:TransformerXL', 'width': 6, 'head_width': H},
    'cope': {'use': 'position.cope:CoPE', 'counts': 4, 'head_width': H},
}
CAUSAL, FULL = {'use': 'ops.mask:Causal'}, {'use': 'ops.mask:Full'}


def attention(position, kernel=PLAIN, mask=CAUSAL):
    spec = {'use': 'attention.multi_head:MultiHead', 'heads': 4, 'key_value_heads': 2, 'kernel': kernel}
    return build({**spec, 'mask': mask, 'position': position})()


def drawn(module, *inputs):
    shapes = jax.eval_shape(lambda: module.init(jax.random.key(0), *inputs, False))
    random = np.random.default_rng(1)
    return jax.tree.map(lambda leaf: jnp.array(random.normal(size=leaf.shape, scale=0.6), leaf.dtype), shapes)


@functools.cache
def params_of(name):
    return drawn(attention(SCHEMES[name]), X, CONTEXT)


def assert_near(given, expected, relative=F32_RELATIVE):
    given, expected = np.asarray(given, np.float32), np.asarray(expected, np.float32)
    np.testing.assert_allclose(given, expected, rtol=0, atol=relative * np.abs(expected).max())


@pytest.mark.long
@pytest.mark.parametrize('mask', [CAUSAL, FULL], ids=['causal', 'full'])
@pytest.mark.parametrize('name', SCHEMES)
def test_the_blockwise_path_equals_the_plain_one(name, mask):
    def loss(params, x, kernel):
        y = attention(SCHEMES[name], kernel, mask).apply(params, x, PACKED, False)
        return jnp.sin(y).sum(), y

    @jax.jit
    def both(params, x):
        return [jax.grad(loss, argnums=(0, 1), has_aux=True)(params, x, kernel) for kernel in (BLOCKWISE, PLAIN)]

    given, expected = both(params_of(name), X)
    assert all(np.abs(leaf).max() > 0 for leaf in jax.tree.leaves(expected))
    jax.tree.map(assert_near, given, expected)


@pytest.mark.parametrize('name', [name for name in SCHEMES if name != 'rotary_2d'])
def test_moving_a_whole_sequence_changes_nothing(name):
    """Of positions, only differences count: as for documents that a cache holds at other places."""
    module = attention(SCHEMES[name])
    run = jax.jit(lambda *chunk: module.apply(params_of(name), *chunk, method='step'))
    ys = []
    for start in (0, 37):
        state = module.apply(params_of(name), X[:, :1], T, method='init_state')
        ys.append(run(X, LayerContext(start + CONTEXT.positions), state)[0])
    assert_near(*ys, 10 * F32_RELATIVE)


@pytest.mark.parametrize('name', SCHEMES)
def test_order_matters(name):
    """Without a direction in the mask, the last query tells the order of the others by the scheme alone."""
    module = attention(SCHEMES[name], mask=FULL)
    order = np.array([*range(T - 3), T - 2, T - 3, T - 1])
    run = jax.jit(lambda x: module.apply(params_of(name), x, CONTEXT, False)[:, -1])
    assert np.abs(run(X) - run(X[:, order])).max() > 1e-3


@pytest.mark.long
@pytest.mark.parametrize('name', ['shaw', 'transformer_xl', 'cope'])
def test_memory_of_forward_and_backward_grows_linearly(name):
    """No vector a pair is kept: the slope of log bytes over log T, between 1k and 4k tokens."""
    sizes = []
    module = attention(SCHEMES[name], {**BLOCKWISE, 'query_block': 128, 'key_block': 128})
    for length in (1024, 2048, 4096):
        x, context = jnp.zeros((1, length, D)), LayerContext(jnp.arange(length)[None])
        step = jax.jit(jax.grad(lambda params, x, context: module.apply(params, x, context, False).sum()))
        sizes.append(step.lower(params_of(name), x, context).compile().memory_analysis().temp_size_in_bytes)
    assert np.polyfit(np.log([1024, 2048, 4096]), np.log(sizes), 1)[0] < LINEAR_EXPONENT


VOCABULARY = 13
TOKENS = jnp.array(np.random.default_rng(0).integers(0, VOCABULARY, (B, T)))
NONE, NORM = {'use': 'position.none:NoPosition'}, {'use': 'norm.rms:RMSNorm'}


def decoder(position=NONE, shared=None, heads=(4,), kernel=PLAIN, run='Unrolled'):
    mixer = {'use': 'attention.multi_head:MultiHead', 'kernel': kernel, 'mask': CAUSAL, 'position': position}
    feedforward = {'use': 'feedforward.mlp:MLP', 'activation': {'use': 'jax.nn:gelu'}}
    block = {'use': 'block.pre_norm:PreNorm', 'feedforward': feedforward, 'norm': NORM}
    spec = {
        'use': 'model.decoder:Decoder',
        'vocabulary': VOCABULARY,
        'context_length': T,
        'width': D,
        'layers': 2,
        'tied': True,
        'block': [{**block, 'mixer': {**mixer, 'heads': count}} for count in heads],
        'position': NONE,
        'norm': NORM,
        'run': {'use': f'model.stack:{run}'},
    }
    return build({**spec, **({} if shared is None else {'shared': shared})})()


@functools.cache
def shared_params(name):
    return drawn(decoder(shared=SCHEMES[name]), TOKENS, CONTEXT)


def logits(module, params, context=PACKED):
    return jax.jit(lambda params: module.apply(params, TOKENS, context, False))(params)


@pytest.mark.long
@pytest.mark.parametrize('name', ['relative_bias', 'cope'])
def test_shared_terms_are_those_of_layers_with_equal_tables(name):
    params = shared_params(name)
    own = {**params['params']}
    shared = own.pop('shared')
    own['layers'] = {
        pattern: {**leaves, 'mixer': {**leaves['mixer'], 'position': jax.tree.map(lambda x: jnp.stack([x, x]), shared)}}
        for pattern, leaves in own['layers'].items()
    }
    expected = logits(decoder(SCHEMES[name]), {'params': own})
    for run in ('Unrolled', 'Scanned'):
        assert_near(logits(decoder(shared=SCHEMES[name], run=run), params), expected)
    assert np.abs(expected - logits(decoder(), {'params': {**own, 'layers': params['params']['layers']}})).max() > 0.01


@pytest.mark.long
def test_a_shared_table_learns_from_every_layer():
    """Its gradient is the sum of those of equal tables, on either path."""

    def gradients(module, params):
        return jax.jit(jax.grad(lambda params: jnp.sin(module.apply(params, TOKENS, PACKED, False)).sum()))(params)

    name = 'relative_bias'
    params = shared_params(name)
    own = {**params['params']}
    table = own.pop('shared')['table']
    own['layers'] = {
        pattern: {**leaves, 'mixer': {**leaves['mixer'], 'position': {'table': jnp.stack([table, table])}}}
        for pattern, leaves in own['layers'].items()
    }
    apart = gradients(decoder(SCHEMES[name]), {'params': own})['params']['layers']
    expected = sum(leaves['mixer']['position']['table'].sum(axis=0) for leaves in apart.values())
    for kernel in (PLAIN, BLOCKWISE):
        given = gradients(decoder(shared=SCHEMES[name], kernel=kernel), params)['params']['shared']['table']
        assert_near(given, expected, 10 * F32_RELATIVE)


@pytest.mark.long
def test_steps_replay_the_whole_with_shared_terms():
    segments = jnp.array([[1] * T, [0] * 3 + [1] * (T - 3)])
    positions = jnp.array([[*range(T)], [0, 0, 0, *range(T - 3)]])
    module, params = decoder(shared=SCHEMES['cope']), shared_params('cope')
    whole = logits(module, params, LayerContext(positions, segments))
    state, parts = module.apply(params, TOKENS, T, method='init_state'), []
    step = jax.jit(lambda *chunk: module.apply(params, *chunk, method='step'))
    for here in (slice(0, 6), slice(6, 7), slice(7, T)):
        part, state = step(TOKENS[:, here], segments[:, here], state)
        parts.append(part)
    assert_near(jnp.concatenate(parts, axis=1)[segments != 0], whole[segments != 0])


@pytest.mark.parametrize(
    ('settings', 'words'),
    [
        ({'shared': SCHEMES['alibi'], 'heads': (4, 2)}, r'number of heads, not \[2, 4\]'),
        ({'shared': {'use': 'position.rotary:Rotary'}}, r'position\.rotary:Rotary has none'),
    ],
)
def test_terms_that_cannot_be_shared_are_refused(settings, words):
    with pytest.raises(UserError, match=words):
        jax.eval_shape(lambda: decoder(**settings).init(jax.random.key(0), TOKENS, CONTEXT, False))
