# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The reference path against a loop, and in chunks of queries."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.ops import plain
from saccade.ops.flops import flops
from saccade.ops.mask import Causal, Full, SameSegment, Window
from saccade.ops.scoring import Dropout, Scoring
from saccade.ops.term import Softcap

B, T, N, K, H = 2, 9, 4, 2, 8
SEGMENTS = jnp.array([[0, 1, 1, 1, 2, 2, 2, 2, 0], [1, 1, 1, 1, 1, 1, 1, 1, 1]])
NEAR = 1e-5


def normal(number, *shape):
    return jnp.array(np.random.default_rng(number).normal(size=shape), jnp.float32)


Q, KEYS, VALUES = normal(0, B, T, N, H), normal(1, B, T, K, H), normal(2, B, T, K, H)
INDEX = jnp.arange(T), jnp.arange(T)


def loop(mask, scale):
    """Attention one query at a time, by definition."""
    allowed = np.broadcast_to(np.asarray(mask(*INDEX)), (B, T, T))
    q, k, v = np.asarray(Q), np.asarray(KEYS), np.asarray(VALUES)
    y = np.zeros((B, T, N, H))
    for b, i, n in np.ndindex(B, T, N):
        keys = [j for j in range(T) if allowed[b, i, j]]
        exponentials = [np.exp(scale * q[b, i, n] @ k[b, j, n // (N // K)]) for j in keys]
        for j, exponential in zip(keys, exponentials, strict=True):
            y[b, i, n] += exponential / sum(exponentials) * v[b, j, n // (N // K)]
    return y


@pytest.mark.parametrize('mask', [Full(), Causal() & SameSegment(SEGMENTS, SEGMENTS), Window(2, 1)])
def test_attention_is_its_definition(mask):
    y, _ = plain.attend(Q, KEYS, VALUES, Scoring(mask, scale=0.4), *INDEX)
    np.testing.assert_allclose(y, loop(mask, 0.4), atol=NEAR)


def test_weights_sum_to_one_or_to_nothing():
    scoring = Scoring(SameSegment(SEGMENTS, SEGMENTS))
    sums = plain.attention_weights(Q, KEYS, scoring, scoring.pairs(*INDEX)).sum(axis=-1)
    expected = np.broadcast_to((SEGMENTS != 0)[:, None], (B, N, T))
    np.testing.assert_allclose(sums, expected, atol=NEAR)


def test_weights_are_those_before_dropout():
    dropped = Scoring(Causal(), dropout=Dropout(jax.random.key_data(jax.random.key(0)), 0.5))
    _, weights = plain.attend(Q, KEYS, VALUES, dropped, *INDEX)
    np.testing.assert_allclose(weights.sum(axis=-1), 1.0, atol=NEAR)


@pytest.mark.parametrize('mask', [Causal(), Window(1) & SameSegment(SEGMENTS, SEGMENTS)])
def test_chunks_of_queries_make_no_difference(mask):
    scoring = Scoring(mask, (Softcap(2.0),))

    @jax.jit
    def whole_and_parts(q, k, v):
        parts = [plain.attend_in_chunks(q, k, v, scoring, chunks) for chunks in (2, 4, 20)]
        return plain.attend(q, k, v, scoring, *INDEX)[0], parts

    whole, parts = whole_and_parts(Q, KEYS, VALUES)
    for part in parts:
        np.testing.assert_allclose(part, whole, atol=NEAR)


def test_chunks_make_no_difference_to_a_term_with_a_carry(gate_class):
    scoring = Scoring(Window(0, 1), (gate_class(normal(3, N)),))
    whole, _ = plain.attend(Q, KEYS, VALUES, scoring, *INDEX)
    np.testing.assert_allclose(plain.attend_in_chunks(Q, KEYS, VALUES, scoring, 3), whole, atol=NEAR)


def test_four_chunks_of_a_causal_mask_save_three_eighths_of_the_work():
    q = jnp.ones((1, 16, 1, 4))

    def work(chunks):
        return flops(lambda q: plain.attend_in_chunks(q, q, q, Scoring(Causal()), chunks), q)

    assert work(4) / work(1) == 1 - 3 / 8
