# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Other likenesses of query and key than their product: against loops, with biases, and block by block."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from saccade.axes import declared, recorded_axes
from saccade.build import build
from saccade.ops import blockwise, score_terms
from saccade.ops.flops import flops
from saccade.ops.mask import Causal, Full
from saccade.ops.scoring import Scoring
from saccade.ops.term import DistanceTable
from saccade.train.optimizer import Optimizer
from saccade.types import Part, UserError

NEAR = 1e-5
B, T, S, N, K, H = 2, 4, 6, 4, 2, 5
SCALE = 0.7


def normal(number, *shape):
    return jnp.array(np.random.default_rng(number).normal(size=shape), jnp.float32)


Q, KEYS, VALUES = normal(0, B, T, N, H), normal(1, B, S, K, H), normal(2, B, S, K, H)
GAIN, TABLE = jnp.array([1.0, 2.0, 5.0, 0.5]), normal(3, S + T, N)
OUT = normal(4, N, H)


def distance(q, k, n):
    return -SCALE / 2 * np.sum((q - k) ** 2)


def cosine(q, k, n):
    return float(GAIN[n]) * q @ k / (np.sqrt(q @ q) * np.sqrt(k @ k))


def additive(q, k, n):
    return np.asarray(OUT)[n] @ np.tanh(q + k)


TERMS = {
    'distance': (score_terms.SquaredDistance(), distance),
    'cosine': (score_terms.Cosine(GAIN), cosine),
    'additive': (score_terms.Additive(OUT), additive),
}


def bucket(distance):
    return distance + T


def scores(*terms):
    scoring = Scoring(Full(), terms, SCALE)
    pairs = scoring.pairs(jnp.arange(T), jnp.arange(S))
    return scoring.scores(Q, KEYS, pairs, scoring.init_carry(Q))[0]


@pytest.mark.parametrize('name', TERMS)
def test_scores_are_those_of_the_equation(name):
    term, score_function = TERMS[name]
    given = scores(term)
    q, k = np.asarray(Q, float), np.asarray(KEYS, float)
    for b, n, i, j in np.ndindex(B, N, T, S):
        expected = score_function(q[b, i, n], k[b, j, n // (N // K)], n)
        np.testing.assert_allclose(given[b, n, i, j], expected, atol=NEAR)


@pytest.mark.parametrize('name', TERMS)
def test_a_bias_may_stand_before_or_after(name):
    term, bias = TERMS[name][0], DistanceTable(TABLE, bucket)
    np.testing.assert_allclose(scores(term, bias), scores(bias, term), atol=NEAR)
    assert jnp.abs(scores(term, bias) - scores(term)).max() > 0.1


def test_a_cosine_knows_no_length():
    pairs = Scoring(Full(), (), SCALE).pairs(jnp.arange(T), jnp.arange(S))
    runs = [
        Scoring(Full(), (score_terms.Cosine(GAIN),), SCALE).scores(a * Q, c * KEYS, pairs, ((),))[0]
        for a, c in ((1, 1), (9, 4))
    ]
    np.testing.assert_allclose(*runs, atol=1e-4)


@pytest.mark.long
@pytest.mark.parametrize('name', TERMS)
def test_blocks_and_matrix_agree_in_outputs_and_gradients(name):
    """A query and a key of no length among them."""
    q, k, v = normal(4, B, 7, N, H).at[0, 2].set(0.0), normal(5, B, 7, K, H).at[1, 1].set(0.0), normal(6, B, 7, K, H)
    made = {
        'distance': lambda gain: score_terms.SquaredDistance(),
        'cosine': score_terms.Cosine,
        'additive': lambda gain: score_terms.Additive(gain[:, None] * OUT),
    }[name]

    def run(attend, q, k, v, gain):
        y = attend(q, k, v, Scoring(Causal(), (made(gain),), SCALE))
        return (normal(7, *y.shape) * y).sum()

    def by_matrix(q, k, v, scoring):
        return scoring.attend(q, k, v)[0]

    def by_blocks(q, k, v, scoring):
        return blockwise.attend(q, k, v, scoring, 3, 2)

    given, expected = (jax.value_and_grad(run, (1, 2, 3, 4))(path, q, k, v, GAIN) for path in (by_blocks, by_matrix))
    jax.tree.map(lambda one, two: np.testing.assert_allclose(one, two, atol=1e-4), given, expected)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(given))
    assert (jnp.abs(given[1][3]).max() > 0.01) == (name != 'distance')


def test_the_product_that_cosine_needs_again_is_computed_once():
    text = jax.jit(lambda q, k: scores_of(q, k, score_terms.Cosine(GAIN))).lower(Q, KEYS).compile().as_text()
    assert text.count(' dot(') == jax.jit(lambda q, k: scores_of(q, k)).lower(Q, KEYS).compile().as_text().count(
        ' dot('
    )


def scores_of(q, k, *terms):
    scoring = Scoring(Full(), terms, SCALE)
    return scoring.scores(q, k, scoring.pairs(jnp.arange(T), jnp.arange(S)), scoring.init_carry(q))[0]


def test_the_gain_starts_where_it_is_told_and_training_keeps_it_below_its_most_and_not_frozen_there():
    module = build({'use': 'score.cosine:Cosine', 'gain': 4.0, 'most': 6.0})()
    with recorded_axes():
        (term,), variables = module.init_with_output(jax.random.key(0), N, method='terms')
    np.testing.assert_allclose(term.gain, 4.0, rtol=1e-6)

    def gain(params):
        return module.apply({'params': params}, N, method='terms')[0].gain

    np.testing.assert_allclose(gain({'log_gain': jnp.full(N, math.log(8.0))}), 8.0, rtol=1e-6)
    optimizer = Optimizer(Part(optax.scale_by_sign))(
        optax.constant_schedule(3.0), variables['params'], declared(variables)
    )
    params, state = variables['params'], optimizer.init(variables['params'])
    for direction, after in ((-1.0, 6.0), (1.0, 6.0 * math.exp(-3.0))):  # up, and down again
        gradient = jax.grad(lambda params, direction=direction: direction * gain(params).sum())(params)
        updates, state = optimizer.update(gradient, state, params)
        params = optax.apply_updates(params, updates)
        np.testing.assert_allclose(gain(params), after, rtol=1e-6)


def test_a_gain_above_the_most_is_refused():
    with pytest.raises(UserError, match=r'gain must be at most 100\.0, not 101\.0'):
        build({'use': 'score.cosine:Cosine', 'gain': 101.0})().init(jax.random.key(0), N, method='terms')


def test_without_a_scale_no_product_is_made():
    scoring = Scoring(Full(), (score_terms.Additive(OUT),), scale=0.0)
    pairs = scoring.pairs(jnp.arange(T), jnp.arange(S))
    assert flops(lambda q, k: scoring.scores(q, k, pairs, scoring.init_carry(q))[0], Q, KEYS) == 2 * B * N * T * S * H
    given = scoring.scores(Q, KEYS, pairs, scoring.init_carry(Q))[0]
    np.testing.assert_allclose(given, scores(score_terms.Additive(OUT)), atol=NEAR)
