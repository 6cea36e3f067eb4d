# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Masks at work in attention: what depends on what, which blocks are visited, and decoding step by step."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from counted import count_primitive

from saccade.build import build
from saccade.ops import blockwise
from saccade.ops.flops import flops
from saccade.ops.mask import Causal, Window
from saccade.ops.pattern import longformer, prefix_lm, sparse_fixed, sparse_strided
from saccade.ops.scoring import Scoring
from saccade.types import LayerContext

F32_RELATIVE = 1e-5  # of the largest element
B, T, D = 2, 11, 8
X = jnp.array(np.random.default_rng(0).normal(size=(B, T, D)), jnp.float32)
CONTEXT = LayerContext(jnp.tile(jnp.arange(T), (B, 1)))
LEFT = np.array([[1] * T, [0] * 3 + [1] * (T - 3)])
TWO = np.array([[1] * 5 + [2] * 5 + [0], [1] * 5 + [2] * 5 + [0]])

PLAIN = {'use': 'attention.plain:Plain'}
BLOCKWISE = {'use': 'attention.blockwise:Blockwise', 'query_block': 4, 'key_block': 3}
CAUSAL = {'use': 'ops.mask:Causal'}


def causal(mask):
    return {'use': 'ops.mask:all_of', 'masks': [CAUSAL, mask]}


CHUNKED = {'use': 'ops.mask:Chunked', 'length': 4}
LONGFORMER = {'use': 'ops.pattern:longformer', 'left': 2, 'right': 2, 'tokens': 1}
BIG_BIRD = {'use': 'ops.pattern:big_bird', 'side': 1, 'tokens': 1, 'size': 2, 'count': 1, 'length': 12, 'seed': 1}
BEFORE = {'use': 'ops.mask:RandomBlocks', 'size': 2, 'count': 1, 'length': 16, 'seed': 1, 'before': True}
MASKS = {
    'window': {'use': 'ops.mask:Window', 'left': 3},
    'two-sided window': {'use': 'ops.mask:Window', 'left': 2, 'right': 1},
    'dilated window': {'use': 'ops.pattern:dilated_window', 'left': 2, 'right': 0, 'dilation': 2},
    'chunked': CHUNKED,
    'causal, chunked': causal(CHUNKED),
    'sparse, strided': {'use': 'ops.pattern:sparse_strided', 'stride': 3},
    'sparse, fixed': {'use': 'ops.pattern:sparse_fixed', 'length': 4, 'count': 1},
    'longformer': LONGFORMER,
    'causal, longformer': causal(LONGFORMER),
    'big bird': BIG_BIRD,
    'causal, big bird': causal({'use': 'ops.mask:any_of', 'masks': [LONGFORMER, BEFORE]}),
    'prefix LM': {'use': 'ops.pattern:prefix_lm', 'count': 3},
}
STEPPED = [name for name in MASKS if 'causal' in name or 'sparse' in name or name in ('window', 'dilated window')]


def attention(mask, kernel=PLAIN):
    spec = {'use': 'attention.multi_head:MultiHead', 'heads': 2, 'kernel': kernel, 'mask': mask}
    return build({**spec, 'position': {'use': 'position.none:NoPosition'}})()


def drawn():
    shapes = jax.eval_shape(lambda: attention(CAUSAL).init(jax.random.key(0), X, CONTEXT, False))
    random = np.random.default_rng(1)
    return jax.tree.map(lambda leaf: jnp.array(random.normal(size=leaf.shape, scale=0.6), leaf.dtype), shapes)


PARAMS = drawn()


def numbered(segments):
    same = (segments[:, :, None] == segments[:, None, :]) & (np.arange(T)[:, None] > np.arange(T))
    return LayerContext(jnp.array(same.sum(axis=-1) * (segments != 0)), jnp.array(segments))


def run(module, x, context):
    return jax.jit(lambda x: module.apply(PARAMS, x, context, False))(x)


def assert_near(given, expected):
    given, expected = np.asarray(given), np.asarray(expected)
    np.testing.assert_allclose(given, expected, rtol=0, atol=F32_RELATIVE * np.abs(expected).max())


@pytest.fixture(params=MASKS)
def mask(request):
    return MASKS[request.param]


def test_each_output_depends_on_the_tokens_that_the_mask_allows(mask):
    module = attention(mask)
    by_x = jax.jit(jax.jacrev(lambda x: module.apply(PARAMS, x[None], LayerContext(CONTEXT.positions[:1]), False)[0]))(
        X[0]
    )
    given = np.abs(by_x).max(axis=(1, 3)) > 0
    index = jnp.arange(T)
    np.testing.assert_array_equal(given, build(mask)()(index, index))


@pytest.mark.long
def test_the_blockwise_path_equals_the_plain_one(mask):
    context = numbered(TWO)

    def loss(x, params, kernel):
        y = attention(mask, kernel).apply(params, x, context, False)
        return jnp.sin(y).sum(), y

    @jax.jit
    def both(x):
        return [jax.grad(loss, argnums=(0, 1), has_aux=True)(x, PARAMS, kernel) for kernel in (BLOCKWISE, PLAIN)]

    jax.tree.map(assert_near, *both(X))


def test_documents_packed_into_a_row_are_as_if_alone(mask):
    packed = run(attention(mask), X, numbered(TWO))[:, :10].reshape(2 * B, 5, D)
    alone = run(attention(mask), X[:, :10].reshape(2 * B, 5, D), LayerContext(jnp.tile(jnp.arange(5), (2 * B, 1))))
    assert_near(packed, alone)


@pytest.mark.long
@pytest.mark.parametrize('name', STEPPED)
def test_steps_replay_the_whole_for_rows_of_different_lengths(name):
    module, context = attention(MASKS[name]), numbered(LEFT)
    whole = run(module, X, context)
    state, parts = module.apply(PARAMS, X[:, :1], T, method='init_state'), []
    step = jax.jit(lambda *chunk: module.apply(PARAMS, *chunk, method='step'))
    for here in (slice(0, 6), slice(6, 7), slice(7, 11)):
        y, state = step(X[:, here], LayerContext(context.positions[:, here], context.segments[:, here]), state)
        parts.append(y)
    assert_near(jnp.concatenate(parts, axis=1)[LEFT != 0], whole[LEFT != 0])


def visits(mask, length, block):
    """Pairs of blocks that the blockwise path visits."""
    q = jax.ShapeDtypeStruct((1, length, 1, 4), jnp.float32)
    products = count_primitive(lambda q: blockwise.attend(q, q, q, Scoring(mask), block, block), 'dot_general', q)
    return products // 2  # scores and values


@pytest.mark.parametrize('name', MASKS)
def test_blocks_that_the_mask_empties_are_not_visited(name):
    mask = build(MASKS[name])()
    index = jnp.arange(12)
    allowed = np.asarray(mask(index, index)).reshape(6, 2, 6, 2).any(axis=(1, 3))
    assert visits(mask, 12, 2) == allowed.sum() < 36


@pytest.mark.long
@pytest.mark.parametrize(
    ('mask', 'exponent'),
    [(Window(32), 1.0), (longformer(16, 16, 8), 1.0), (Causal() & longformer(16, 0, 8), 1.0), (Causal(), 2.0)],
)
def test_work_grows_as_the_mask_does(mask, exponent):
    """FLOPs of forward and backward, loops multiplied out, between 1k and 4k tokens."""

    def work(length):
        q = jax.ShapeDtypeStruct((1, length, 1, 4), jnp.float32)
        return flops(jax.grad(lambda q: blockwise.attend(q, q, q, Scoring(mask), 32, 32).sum()), q)

    slope = np.log(work(4096) / work(1024)) / np.log(4)
    assert slope == pytest.approx(exponent, abs=0.1)


def test_special_cases_are_the_masks_that_they_contain():
    index = jnp.arange(T)
    for given, expected in [
        (prefix_lm(0), Causal()),
        (longformer(3, 1, 0), Window(3, 1)),
        (sparse_strided(1), Causal()),
        (sparse_fixed(T, 1), Causal()),
        (sparse_fixed(4, 4), Causal()),
    ]:
        np.testing.assert_array_equal(given(index, index), expected(index, index))
