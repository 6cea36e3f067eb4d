# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The blockwise path against the plain one: outputs, gradients, work and memory."""

import re
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from counted import count_primitive
from flax import struct

from saccade.attention.plain import Plain
from saccade.ops import blockwise
from saccade.ops.elementwise import ElementwiseWeights
from saccade.ops.flops import flops
from saccade.ops.mask import Causal, Full, SameSegment, Window
from saccade.ops.scoring import Dropout, Scoring
from saccade.ops.softmax import SoftmaxWeights
from saccade.ops.term import DistanceTable, Softcap
from saccade.softmax.sigmoid import SigmoidWeights

F32_RELATIVE = 1e-5  # of the largest element
BF16_RELATIVE = 2e-2
LINEAR_EXPONENT = 1.1
QUADRATIC_EXPONENT = 1.9

SEGMENTS = jnp.array([[0, 0, 1, 1, 1, 2, 2, 2, 2, 2, 0], [1, 1, 1, 1, 1, 1, 1, 1, 3, 3, 3]])
PACKED = Causal() & SameSegment(SEGMENTS, SEGMENTS)


def clipped(distance):
    return jnp.clip(distance + 3, 0, 6)


def by_matrix(q, k, v, scoring):
    return scoring.attend(q, k, v)[0]


@struct.dataclass
class Bump(ElementwiseWeights):
    """A weight with a trained width by head."""

    width: jax.Array

    def weight(self, scores):
        return jnp.exp(-jnp.square(scores / self.width[:, None, None]))


PATHS = {'blocks': lambda *inputs: blockwise.attend(*inputs, 128, 128), 'matrix': by_matrix}


@dataclass(frozen=True)
class Case:
    """Attributes: T, S; N, K; tokens in a block of queries, of keys; the names of the terms and of the softmax."""

    lengths: tuple[int, int]
    heads: tuple[int, int]
    blocks: tuple[int, int]
    mask: object
    terms: tuple[str, ...] = ()
    dropout: float = 0.0
    softmax: str = 'softmax'


CASES = {
    'one block': Case((5, 5), (2, 2), (8, 8), Causal()),
    'whole blocks': Case((8, 12), (2, 2), (4, 4), Full(), ('table',)),
    'ragged blocks': Case((11, 11), (4, 2), (4, 3), Causal(), ('cap',)),
    'cross attention': Case((5, 11), (4, 1), (3, 4), Full(), ('cap', 'table')),
    'longer queries': Case((11, 5), (3, 3), (4, 2), Causal()),
    'empty rows': Case((11, 11), (4, 4), (3, 4), PACKED, ('table',)),
    'empty query blocks': Case((11, 6), (2, 1), (3, 3), Window(1, 1), ('table',)),
    'dropout': Case((11, 11), (4, 2), (4, 5), PACKED, ('table',), 0.4),
    'carry': Case((11, 11), (4, 2), (4, 3), PACKED, ('table', 'gate')),
    'carry, longer queries': Case((11, 5), (2, 2), (4, 3), Causal(), ('gate',)),
    'carry in bands': Case((10, 10), (2, 2), (5, 2), Window(2) | Window(0, 3), ('gate', 'cap')),
    'sink': Case((11, 11), (4, 2), (4, 3), PACKED, ('table',), 0.4, 'sink'),
    'sink, cross attention': Case((5, 11), (4, 1), (3, 4), Full(), ('cap', 'table'), 0.0, 'sink'),
    'sink, carry in a window': Case((11, 5), (2, 2), (4, 3), Causal() & Window(3), ('gate',), 0.0, 'sink'),
    'sink, empty query blocks': Case((11, 6), (2, 1), (3, 3), Window(1, 1), ('table',), 0.0, 'sink'),
    'sigmoid': Case((11, 11), (4, 2), (4, 3), PACKED, ('table',), 0.4, 'sigmoid'),
    'sigmoid, cross attention': Case((11, 5), (4, 1), (4, 3), Window(3, 3), ('table', 'cap'), 0.0, 'sigmoid'),
    'sigmoid, carry': Case((11, 11), (4, 2), (4, 3), Causal(), ('gate',), 0.0, 'sigmoid'),
    'trained by element': Case((11, 11), (4, 2), (4, 3), PACKED, ('table',), 0.4, 'bump'),
}


def normal(number, *shape):
    return jnp.array(np.random.default_rng(number).normal(size=shape), jnp.float32)


def inputs(case, B=2, H=8):
    (T, S), (N, K) = case.lengths, case.heads
    q, k, v = normal(0, B, T, N, H), normal(1, B, S, K, H), normal(2, B, S, K, H)
    table, gate, sink, bump = normal(3, 7, N), 2.0 * normal(4, N), normal(7, N), 1.0 + jnp.square(normal(8, N))
    return {'q': q, 'k': k, 'v': v, 'table': table, 'gate': gate, 'sink': sink, 'bump': bump}


def softmax(name, arrays):
    made = {'softmax': SoftmaxWeights, 'sigmoid': lambda: SigmoidWeights(-2.0)}
    trained = {'sink': SoftmaxWeights, 'bump': Bump}
    return trained[name](arrays[name]) if name in trained else made[name]()


def scoring(case, arrays, gate_class):
    terms = {
        'cap': lambda: Softcap(1.5),
        'table': lambda: DistanceTable(arrays['table'], clipped),
        'gate': lambda: gate_class(arrays['gate']),
    }
    dropout = Dropout(jax.random.key_data(jax.random.key(5)), case.dropout) if case.dropout else None
    made = tuple(terms[name]() for name in case.terms)
    return Scoring(case.mask, made, 0.3, dropout, softmax(case.softmax, arrays))


def both_paths(case, gate_class):
    """Outputs and gradients of the blockwise and of the plain path."""
    arrays = inputs(case)
    direction = normal(6, *arrays['q'].shape)

    def by_blocks(arrays):
        q, k, v = arrays['q'], arrays['k'], arrays['v']
        y = blockwise.attend(q, k, v, scoring(case, arrays, gate_class), *case.blocks)
        return (direction * y).sum(), y

    def by_matrix(arrays):
        q, k, v = arrays['q'], arrays['k'], arrays['v']
        y, _ = scoring(case, arrays, gate_class).attend(q, k, v)
        return (direction * y).sum(), y

    @jax.jit
    def run(arrays):
        return [jax.grad(path, has_aux=True)(arrays) for path in (by_blocks, by_matrix)]

    return run(arrays)


def assert_near(given, expected, relative):
    given, expected = np.asarray(given, np.float32), np.asarray(expected, np.float32)
    assert np.isfinite(given).all()
    np.testing.assert_allclose(given, expected, rtol=0, atol=relative * max(1e-3, np.abs(expected).max()))


@pytest.mark.long
@pytest.mark.parametrize('name', CASES)
def test_outputs_and_gradients_equal_the_plain_path(name, gate_class):
    (gradients, y), (expected_gradients, expected) = both_paths(CASES[name], gate_class)
    assert_near(y, expected, F32_RELATIVE)
    used = {'q', 'k', 'v', *CASES[name].terms, CASES[name].softmax} - {'cap', 'softmax', 'sigmoid'}
    for key in used:
        assert jnp.abs(expected_gradients[key]).max() > 0
        assert_near(gradients[key], expected_gradients[key], F32_RELATIVE)


def large_scores(apart):
    """Queries of 1e4 whose products with the keys float32 holds exactly, so that the oracle sees the same scores.

    The scores of a query lie far apart, but for pairs of keys that differ in a feature that queries lack; or all near.
    """
    q, k, v, direction = (np.asarray(normal(number, 2, 48, 2, 4), np.float64) for number in range(10, 14))
    q, k = (np.round(32 * x) / 32 for x in (q, k))
    if apart:
        q[..., -1], k[:, 1::2, :, :-1] = 0.0, k[:, ::2, :, :-1]
        return np.round(1e4 * q), k, v, direction
    q[..., 0], k[..., 0] = 8192.0, 1.0
    return q, k, v, direction


SINKS = {'softmax': None, 'softmax_one': 0.0, 'sink': 8192.0 * 0.5}


def in_double(q, k, v, direction, sink):
    """Outputs, and the gradients of (direction * y).sum() by q, k, v and the sink, in float64."""
    scores = 0.5 * np.einsum('btnh,bsnh->bnts', q, k)
    scores = np.where(np.tri(q.shape[1], dtype=bool), scores, -np.inf)
    of_sink = np.full((2, 1, 1), -np.inf if sink is None else sink)
    highest = np.maximum(scores.max(axis=-1, keepdims=True), of_sink)
    total = np.exp(scores - highest).sum(axis=-1, keepdims=True) + np.exp(of_sink - highest)
    weights, of_sink = np.exp(scores - highest) / total, np.exp(of_sink - highest) / total
    dweights = np.einsum('btnh,bsnh->bnts', direction, v)
    inner = (weights * dweights).sum(axis=-1, keepdims=True)
    dscores = 0.5 * weights * (dweights - inner)
    dq, dk = np.einsum('bnts,bsnh->btnh', dscores, k), np.einsum('bnts,btnh->bsnh', dscores, q)
    dv, dsink = np.einsum('bnts,btnh->bsnh', weights, direction), -(of_sink * inner).sum(axis=(0, 2, 3))
    return (dq, dk, dv, dsink), np.einsum('bnts,bsnh->btnh', weights, v)


@pytest.mark.parametrize('blocks', [(48, 48), (16, 16), (9, 20)])
@pytest.mark.parametrize('sink', SINKS)
@pytest.mark.parametrize('apart', [True, False])
def test_large_scores_have_the_gradients_of_float64(apart, sink, blocks):
    *arrays, direction = large_scores(apart)

    def loss(q, k, v, sink):
        scoring = Scoring(Causal(), scale=0.5, softmax=SoftmaxWeights(sink))
        y = blockwise.attend(q, k, v, scoring, *blocks)
        return (direction.astype(np.float32) * y).sum(), y

    given = [jnp.array(x, jnp.float32) for x in arrays]
    logits = None if SINKS[sink] is None else jnp.full(2, SINKS[sink])
    gradients, y = jax.jit(jax.grad(loss, argnums=(0, 1, 2, 3), has_aux=True))(*given, logits)
    expected_gradients, expected = in_double(*arrays, direction, SINKS[sink])
    assert_near(y, expected, F32_RELATIVE)
    for one, other in zip(gradients, expected_gradients, strict=True):
        if one is not None:
            assert_near(one, other, F32_RELATIVE)


@pytest.mark.parametrize('blocks', [(64, 64), (16, 32), (9, 20)])
@pytest.mark.parametrize('name', ['softmax', 'sink'])
def test_large_queries_that_read_one_key_each_have_no_gradient(name, blocks):
    """What rounding leaves of a score's gradient, 1e-7 where it should be 0, would be times 1e8 that of the key."""
    q, k, v, direction = (normal(number, 2, 64, 2 if number in (1, 2) else 4, 16) for number in range(4))
    scoring = Scoring(Causal(), softmax=softmax(name, {'sink': normal(7, 4)}))

    def loss(q, k):
        return (direction * blockwise.attend(q, k, v, scoring, *blocks)).sum()

    for gradient in jax.jit(jax.grad(loss, argnums=(0, 1)))(1e8 * jnp.sign(q), k):
        np.testing.assert_array_equal(gradient, 0.0)


@pytest.mark.parametrize('name', ['softmax', 'sink', 'sigmoid'])
def test_a_row_without_keys_reads_nothing(name):
    case = CASES['empty rows']
    q, k, v = (inputs(case)[key] for key in 'qkv')
    y = blockwise.attend(q, k, v, Scoring(PACKED, softmax=softmax(name, inputs(case))), *case.blocks)
    np.testing.assert_array_equal(y[0, :2], 0.0)
    np.testing.assert_array_equal(y[0, -1], 0.0)
    assert (jnp.abs(y[1]).max(axis=(-1, -2)) > 0).all()


@pytest.mark.long
def test_a_sink_that_takes_nothing_is_softmax():
    """With gradients, and in rows without keys too, where nothing at all is in the normaliser."""
    case = CASES['empty rows']
    arrays = inputs(case)

    def run(q, sink):
        scoring = Scoring(PACKED, softmax=SoftmaxWeights(sink))
        y = blockwise.attend(q, arrays['k'], arrays['v'], scoring, *case.blocks)
        return (y * normal(6, *y.shape)).sum(), y

    without, expected = jax.grad(run, has_aux=True)(arrays['q'], None)
    for sink in (-jnp.inf, -1e30):
        gradient, y = jax.grad(run, has_aux=True)(arrays['q'], jnp.full(4, sink))
        assert_near(y, expected, F32_RELATIVE)
        assert_near(gradient, without, F32_RELATIVE)


@pytest.mark.long
@pytest.mark.parametrize('name', ['softmax', 'sink', 'sigmoid'])
def test_bfloat16_is_near_float32(name):
    """In outputs and in gradients, that by a sink among them, which is added up in float32."""
    case = CASES['ragged blocks']

    def run(arrays):
        scoring = Scoring(Causal(), scale=0.3, softmax=softmax(name, arrays))
        y = blockwise.attend(arrays['q'], arrays['k'], arrays['v'], scoring, *case.blocks)
        return (normal(6, *y.shape) * y).astype(jnp.float32).sum(), y

    arrays = {key: inputs(case)[key] for key in ('q', 'k', 'v', 'sink')}
    narrow = {key: leaf if key == 'sink' else leaf.astype(jnp.bfloat16) for key, leaf in arrays.items()}
    (low, y), (exact, expected) = (jax.grad(run, has_aux=True)(given) for given in (narrow, arrays))
    assert y.dtype == jnp.bfloat16
    assert_near(y, expected, BF16_RELATIVE)
    jax.tree.map(lambda given, wanted: assert_near(given, wanted, BF16_RELATIVE), low, exact)


@pytest.mark.parametrize('by', ['blocks', 'matrix'])
def test_the_gradient_of_a_table_in_bfloat16_is_summed_in_float32(by):
    """Thousands of pairs share each entry: summed in bfloat16, half of its gradient is lost."""
    T = 256
    q, k, v, direction = (normal(number, 1, T, 2, 8) for number in range(4))

    def gradient(by, dtype):
        def loss(table):
            scoring = Scoring(Causal(), (DistanceTable(table, clipped),), 0.3)
            return (direction * PATHS[by](q, k, v, scoring)).sum()

        return jax.jit(jax.grad(loss))(normal(4, 7, 2).astype(dtype))

    assert_near(gradient(by, jnp.bfloat16), gradient('matrix', jnp.float32), BF16_RELATIVE)


@pytest.mark.parametrize(
    ('mask', 'pairs'),
    [
        (Full(), 16),
        (Causal(), 10),
        (Window(4), 7),
        (Window(0), 4),
        (Causal() & Window(5), 9),
        (Causal() & SameSegment(jnp.ones((1, 16), int), jnp.ones((1, 16), int)), 10),
    ],
)
def test_only_live_pairs_of_blocks_are_visited(mask, pairs):
    q = jnp.ones((1, 16, 1, 4))
    visit = 2  # products in one: scores and values
    assert count_primitive(lambda q: blockwise.attend(q, q, q, Scoring(mask), 4, 4), 'dot_general', q) == visit * pairs


def compiled(by, T, term, softmax):
    """Attention with its backward pass at a length, to look at."""

    def loss(q, term, softmax):
        return PATHS[by](q, q, q, Scoring(Causal(), (term,), softmax=softmax)).sum()

    q = jax.ShapeDtypeStruct((1, T, 2, 16), jnp.float32)
    return jax.jit(jax.grad(loss, argnums=(0, 1, 2))).lower(q, term, softmax).compile()


def exponent(by, term, softmax=SoftmaxWeights(), lengths=(1024, 2048, 4096)):  # noqa: B008
    """The slope of log bytes over log T."""
    sizes = [compiled(by, T, term, softmax).memory_analysis().temp_size_in_bytes for T in lengths]
    return np.polyfit(np.log(lengths), np.log(sizes), 1)[0]


TABLE = DistanceTable(jnp.ones((7, 2)), clipped)


@pytest.mark.long
@pytest.mark.parametrize('term', ['table', 'gate'])
def test_memory_of_forward_and_backward_grows_linearly(term, gate_class):
    assert exponent('blocks', {'table': TABLE, 'gate': gate_class(jnp.ones(2))}[term]) < LINEAR_EXPONENT


@pytest.mark.long
@pytest.mark.parametrize('softmax', [SoftmaxWeights(jnp.ones(2)), SigmoidWeights(-2.0)])
def test_memory_grows_linearly_with_a_sink_and_with_sigmoid(softmax):
    assert exponent('blocks', TABLE, softmax, (512, 1024, 2048, 4096)) < LINEAR_EXPONENT


@pytest.mark.long
def test_memory_of_the_plain_path_grows_quadratically():
    assert exponent('matrix', TABLE) > QUADRATIC_EXPONENT


def largest_buffer(by, T):
    """Numbers in the largest array that the compiled program mentions."""
    text = compiled(by, T, TABLE, SoftmaxWeights(jnp.ones(2))).as_text()
    return max(np.prod([int(size) for size in shape.split(',')]) for shape in re.findall(r'\w\[([\d,]+)\]', text))


@pytest.mark.long
def test_the_compiled_program_holds_no_matrix_of_weights():
    assert largest_buffer('blocks', 1024) < 1024 * 1024 < largest_buffer('matrix', 1024)


def by_chunks(q, scoring):
    return Plain(query_chunks=q.shape[1] // 128, parent=None).attend(q, q, q, scoring)


@pytest.mark.long
@pytest.mark.parametrize('path', [lambda q, scoring: PATHS['blocks'](q, q, q, scoring), by_chunks])
def test_work_of_a_window_grows_linearly(path):
    def work(T, mask):
        q = jax.ShapeDtypeStruct((1, T, 2, 16), jnp.float32)
        return flops(jax.grad(lambda q: path(q, Scoring(mask)).sum()), q)

    lengths = [1024, 2048, 4096]
    windows, whole = ([work(T, mask) for T in lengths] for mask in (Causal() & Window(200), Causal()))
    assert np.polyfit(np.log(lengths), np.log(windows), 1)[0] < LINEAR_EXPONENT
    assert np.polyfit(np.log(lengths), np.log(whole), 1)[0] > QUADRATIC_EXPONENT
