# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The blockwise path against the plain one: outputs, gradients, work and memory."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.ops import blockwise, plain
from saccade.ops.flops import count_primitive
from saccade.ops.mask import Causal, Full, SameSegment, Window
from saccade.ops.scoring import Dropout, Scoring
from saccade.ops.term import DistanceTable, Softcap

F32_RELATIVE = 1e-5  # of the largest element
BF16_RELATIVE = 2e-2
LINEAR_EXPONENT = 1.1
QUADRATIC_EXPONENT = 1.9

SEGMENTS = jnp.array([[0, 0, 1, 1, 1, 2, 2, 2, 2, 2, 0], [1, 1, 1, 1, 1, 1, 1, 1, 3, 3, 3]])
PACKED = Causal() & SameSegment(SEGMENTS, SEGMENTS)


def clipped(distance):
    return jnp.clip(distance + 3, 0, 6)


def by_matrix(q, k, v, scoring):
    return plain.attend(q, k, v, scoring, jnp.arange(q.shape[1]), jnp.arange(k.shape[1]))[0]


PATHS = {'blocks': lambda *inputs: blockwise.attend(*inputs, 128, 128), 'matrix': by_matrix}


@dataclass(frozen=True)
class Case:
    """Attributes: T, S; N, K; tokens in a block of queries, of keys."""

    lengths: tuple[int, int]
    heads: tuple[int, int]
    blocks: tuple[int, int]
    mask: object
    terms: tuple[str, ...] = ()
    dropout: float = 0.0


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
}


def normal(number, *shape):
    return jnp.array(np.random.default_rng(number).normal(size=shape), jnp.float32)


def inputs(case, B=2, H=8):
    (T, S), (N, K) = case.lengths, case.heads
    q, k, v = normal(0, B, T, N, H), normal(1, B, S, K, H), normal(2, B, S, K, H)
    return {'q': q, 'k': k, 'v': v, 'table': normal(3, 7, N), 'gate': 2.0 * normal(4, N)}


def scoring(case, arrays, gate_class):
    terms = {
        'cap': lambda: Softcap(1.5),
        'table': lambda: DistanceTable(arrays['table'], clipped),
        'gate': lambda: gate_class(arrays['gate']),
    }
    dropout = Dropout(jax.random.key_data(jax.random.key(5)), case.dropout) if case.dropout else None
    return Scoring(case.mask, tuple(terms[name]() for name in case.terms), 0.3, dropout)


def both_paths(case, gate_class):
    """Outputs and gradients of the blockwise and of the plain path."""
    arrays = inputs(case)
    direction = normal(6, *arrays['q'].shape)
    indices = tuple(jnp.arange(length) for length in case.lengths)

    def by_blocks(arrays):
        q, k, v = arrays['q'], arrays['k'], arrays['v']
        y = blockwise.attend(q, k, v, scoring(case, arrays, gate_class), *case.blocks)
        return (direction * y).sum(), y

    def by_matrix(arrays):
        q, k, v = arrays['q'], arrays['k'], arrays['v']
        y, _ = plain.attend(q, k, v, scoring(case, arrays, gate_class), *indices)
        return (direction * y).sum(), y

    @jax.jit
    def run(arrays):
        return [jax.grad(path, has_aux=True)(arrays) for path in (by_blocks, by_matrix)]

    return run(arrays)


def assert_near(given, expected, relative):
    given, expected = np.asarray(given, np.float32), np.asarray(expected, np.float32)
    assert np.isfinite(given).all()
    np.testing.assert_allclose(given, expected, rtol=0, atol=relative * max(1e-3, np.abs(expected).max()))


@pytest.mark.parametrize('name', CASES)
def test_outputs_and_gradients_equal_the_plain_path(name, gate_class):
    (gradients, y), (expected_gradients, expected) = both_paths(CASES[name], gate_class)
    assert_near(y, expected, F32_RELATIVE)
    used = {'q', 'k', 'v', *CASES[name].terms} - {'cap'}
    for key in used:
        assert jnp.abs(expected_gradients[key]).max() > 0
        assert_near(gradients[key], expected_gradients[key], F32_RELATIVE)


def test_a_row_without_keys_reads_nothing():
    case = CASES['empty rows']
    q, k, v = (inputs(case)[key] for key in 'qkv')
    y = blockwise.attend(q, k, v, Scoring(PACKED), *case.blocks)
    np.testing.assert_array_equal(y[0, :2], 0.0)
    np.testing.assert_array_equal(y[0, -1], 0.0)
    assert (jnp.abs(y[1]).max(axis=(-1, -2)) > 0).all()


def test_bfloat16_is_near_float32():
    case = CASES['ragged blocks']
    q, k, v = (inputs(case)[key] for key in 'qkv')
    low = [x.astype(jnp.bfloat16) for x in (q, k, v)]
    y = blockwise.attend(*low, Scoring(Causal(), scale=0.3), *case.blocks)
    assert y.dtype == jnp.bfloat16
    assert_near(y, blockwise.attend(q, k, v, Scoring(Causal(), scale=0.3), *case.blocks), BF16_RELATIVE)


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


def temporary_bytes(by, T, term):
    def loss(q, term):
        return PATHS[by](q, q, q, Scoring(Causal(), (term,))).sum()

    q = jax.ShapeDtypeStruct((1, T, 2, 16), jnp.float32)
    compiled = jax.jit(jax.grad(loss, argnums=(0, 1))).lower(q, term).compile()
    return compiled.memory_analysis().temp_size_in_bytes


def exponent(by, term):
    """The slope of log bytes over log T, between 1k and 4k tokens."""
    lengths = [1024, 2048, 4096]
    sizes = [temporary_bytes(by, T, term) for T in lengths]
    return np.polyfit(np.log(lengths), np.log(sizes), 1)[0]


@pytest.mark.parametrize('term', ['table', 'gate'])
def test_memory_of_forward_and_backward_grows_linearly(term, gate_class):
    assert (
        exponent('blocks', {'table': DistanceTable(jnp.ones((7, 2)), clipped), 'gate': gate_class(jnp.ones(2))}[term])
        < LINEAR_EXPONENT
    )


def test_memory_of_the_plain_path_grows_quadratically():
    assert exponent('matrix', DistanceTable(jnp.ones((7, 2)), clipped)) > QUADRATIC_EXPONENT
