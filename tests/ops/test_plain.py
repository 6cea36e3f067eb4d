# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The reference path against a loop, and in chunks of queries."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.attention.plain import Plain
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


def in_chunks(chunks, q, k, v, scoring):
    return Plain(query_chunks=chunks, parent=None).attend(q, k, v, scoring)


def loop(q, k, v, allowed, scale):
    """Attention one query at a time, by definition."""
    (B, T, N, _), (S, K) = q.shape, k.shape[1:3]
    allowed, (q, k, v) = np.broadcast_to(allowed, (B, T, S)), (np.asarray(x, float) for x in (q, k, v))
    y = np.zeros((B, T, N, v.shape[-1]))
    for b, i, n in np.ndindex(B, T, N):
        keys = [j for j in range(S) if allowed[b, i, j]]
        exponentials = [np.exp(scale * q[b, i, n] @ k[b, j, n // (N // K)]) for j in keys]
        for j, exponential in zip(keys, exponentials, strict=True):
            y[b, i, n] += exponential / sum(exponentials) * v[b, j, n // (N // K)]
    return y


@pytest.mark.parametrize('mask', [Full(), Causal() & SameSegment(SEGMENTS, SEGMENTS), Window(2, 1)])
def test_attention_is_its_definition(mask):
    y, _ = Scoring(mask, scale=0.4).attend(Q, KEYS, VALUES)
    np.testing.assert_allclose(y, loop(Q, KEYS, VALUES, mask(*INDEX), 0.4), atol=NEAR)


@pytest.mark.parametrize('seed', range(6))
def test_the_matrix_form_is_the_scalar_form(seed):
    """For any number of queries, keys, heads and features, and any scale, with none at all among them."""
    random = np.random.default_rng(seed)
    N = int(random.integers(1, 4)) * (K := int(random.integers(1, 4)))
    B, T, S, H, V = (int(size) for size in random.integers(1, 7, 5))
    q, k, v = (
        jnp.array(random.normal(size=shape), jnp.float32) for shape in ((B, T, N, H), (B, S, K, H), (B, S, K, V))
    )
    scale = [1.0, H**-0.5, float(random.uniform(0.1, 2.0))][seed % 3]
    y, _ = Scoring(Full(), scale=scale).attend(q, k, v)
    np.testing.assert_allclose(y, loop(q, k, v, True, scale), atol=1e-6)


def test_at_no_temperature_a_query_reads_the_value_of_its_key_exactly():
    """A soft look-up becomes a hard one: the value of the key with the highest product, to the bit."""
    y, weights = Scoring(Full(), scale=1e6).attend(Q, KEYS, VALUES)
    found = jnp.einsum('BTNH,BSNH->BNTS', Q, jnp.repeat(KEYS, N // K, axis=-2)).argmax(axis=-1)
    for b, i, n in np.ndindex(B, T, N):
        np.testing.assert_array_equal(y[b, i, n], VALUES[b, found[b, n, i], n // (N // K)])
    np.testing.assert_array_equal(jnp.sort(weights)[..., :-1], 0.0)


def test_weights_are_normalised_over_the_keys():
    """The last axis here; down the columns of the transpose, as where queries and keys are columns."""
    weights = Scoring(Full()).attend(Q, KEYS, VALUES)[1]
    np.testing.assert_allclose(weights.sum(axis=-1), 1.0, atol=NEAR)
    assert jnp.abs(weights.sum(axis=-2) - 1.0).max() > 0.1
    columns = np.exp(np.einsum('BSNH,BTNH->BNST', np.repeat(KEYS, N // K, axis=-2), Q))
    np.testing.assert_allclose(weights, np.swapaxes(columns / columns.sum(axis=-2, keepdims=True), -1, -2), atol=NEAR)


def scores_of_noise(H, scale):
    """Scores of normal queries and keys, and the norm of the gradient of a weight by them."""
    q, k = normal(7, 1, 64, 1, H), normal(8, 1, 64, 1, H)
    scoring = Scoring(Full(), scale=scale)
    pairs = scoring.pairs(jnp.arange(64), jnp.arange(64))
    scores, _ = scoring.scores(q, k, pairs, ())
    weights, pull = jax.vjp(lambda scores: scoring.softmax(scores, pairs.allowed), scores)
    (gradient,) = pull(normal(9, *scores.shape))
    return scores, weights, jnp.sqrt(jnp.mean(jnp.sum(jnp.square(gradient), axis=-1)))


WIDTHS = (16, 64, 256, 1024)


@pytest.mark.parametrize('H', WIDTHS)
def test_scaled_scores_of_normal_vectors_have_variance_one(H):
    assert jnp.var(scores_of_noise(H, H**-0.5)[0]) == pytest.approx(1.0, rel=0.15)
    assert jnp.var(scores_of_noise(H, 1.0)[0]) == pytest.approx(H, rel=0.15)


def test_unscaled_scores_saturate_and_their_gradient_falls():
    scaled, unscaled = ([scores_of_noise(H, scale or H**-0.5)[1:] for H in WIDTHS] for scale in (None, 1.0))
    highest = [weights.max(axis=-1).mean() for weights, _ in unscaled]
    assert sorted(highest) == highest
    assert highest[-1] > 0.9 > 0.2 > max(weights.max(axis=-1).mean() for weights, _ in scaled)
    norms, steady = [norm for _, norm in unscaled], [norm for _, norm in scaled]
    assert norms[0] > norms[1] > norms[2] > norms[3]
    assert norms[-1] < 0.7 * norms[0]
    assert max(steady) < 1.2 * min(steady)


def test_work_and_memory_grow_with_the_square_of_the_length():
    lengths = (256, 512, 1024)

    def costs(length):
        q = jax.ShapeDtypeStruct((1, length, 1, 4), jnp.float32)
        run = jax.grad(lambda q: in_chunks(1, q, q, q, Scoring(Causal())).sum())
        return flops(run, q), jax.jit(run).lower(q).compile().memory_analysis().temp_size_in_bytes

    work, memory = zip(*map(costs, lengths), strict=True)
    for sizes in (work, memory):
        assert np.polyfit(np.log(lengths), np.log(sizes), 1)[0] == pytest.approx(2.0, abs=0.1)


def test_weights_sum_to_one_or_to_nothing():
    scoring = Scoring(SameSegment(SEGMENTS, SEGMENTS))
    sums = scoring.attend(Q, KEYS, VALUES)[1].sum(axis=-1)
    expected = np.broadcast_to((SEGMENTS != 0)[:, None], (B, N, T))
    np.testing.assert_allclose(sums, expected, atol=NEAR)


def test_weights_are_those_before_dropout():
    dropped = Scoring(Causal(), dropout=Dropout(jax.random.key_data(jax.random.key(0)), 0.5))
    _, weights = dropped.attend(Q, KEYS, VALUES)
    np.testing.assert_allclose(weights.sum(axis=-1), 1.0, atol=NEAR)


@pytest.mark.long
@pytest.mark.parametrize('mask', [Causal(), Window(1) & SameSegment(SEGMENTS, SEGMENTS)])
def test_chunks_of_queries_make_no_difference(mask):
    scoring = Scoring(mask, (Softcap(2.0),))

    @jax.jit
    def whole_and_parts(q, k, v):
        parts = [in_chunks(chunks, q, k, v, scoring) for chunks in (2, 4, 20)]
        return scoring.attend(q, k, v)[0], parts

    whole, parts = whole_and_parts(Q, KEYS, VALUES)
    for part in parts:
        np.testing.assert_allclose(part, whole, atol=NEAR)


@pytest.mark.long
def test_chunks_make_no_difference_to_a_term_with_a_carry(gate_class):
    scoring = Scoring(Window(0, 1), (gate_class(normal(3, N)),))
    whole, _ = scoring.attend(Q, KEYS, VALUES)
    np.testing.assert_allclose(in_chunks(3, Q, KEYS, VALUES, scoring), whole, atol=NEAR)


def test_four_chunks_of_a_causal_mask_save_three_eighths_of_the_work():
    q = jnp.ones((1, 16, 1, 4))

    def work(chunks):
        return flops(lambda q: in_chunks(chunks, q, q, q, Scoring(Causal())), q)

    assert work(4) / work(1) == 1 - 3 / 8
