# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Each way from scores to weights: against a loop of its equation, what it is in special cases, and its gradient."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.ops.entmax import masked_entmax
from saccade.ops.softmax import SoftmaxWeights, masked_softmax
from saccade.softmax.entmax import EntmaxWeights
from saccade.softmax.scalable import ScalableWeights
from saccade.softmax.sigmoid import SigmoidWeights
from saccade.softmax.talking_heads import TalkingHeadsWeights
from saccade.softmax.top_k import TopKWeights
from saccade.types import OnlineSoftmax, RowSoftmax, UserError

NEAR = 1e-6
GRADIENT_NEAR = 1e-5
FINITE_STEP = 1e-3
FINITE_NEAR = 2e-3  # of float32 differences over that step
B, N, T, S = 2, 3, 4, 7

RANDOM = np.random.default_rng(0)
SCORES = jnp.array(2.0 * RANDOM.normal(size=(B, N, T, S)), jnp.float32)
DIRECTION = jnp.array(RANDOM.normal(size=SCORES.shape), jnp.float32)
SINK = jnp.array(RANDOM.normal(size=N), jnp.float32)
BEFORE, AFTER = (jnp.array(RANDOM.normal(size=(N, N)), jnp.float32) for _ in range(2))
ALLOWED = jnp.array(RANDOM.random((B, 1, T, S)) < 0.7).at[:, :, 0].set(True).at[0, 0, 1].set(False)
EVERYTHING = jnp.ones((1, 1, T, S), bool)


def exponentials(scores, sink=None):
    total = sum(np.exp(scores)) + (0.0 if sink is None else np.exp(sink))
    return [np.exp(score) / total for score in scores]


def highest(scores, k):
    least = sorted(scores)[-k:][0]
    return iter(exponentials([score for score in scores if score >= least])), least


def top(scores, k):
    weights, least = highest(scores, k)
    return [next(weights) if score >= least else 0.0 for score in scores]


def sparse(scores, alpha):
    """By halving in float64, for as long as it makes a difference."""
    scaled = [(alpha - 1) * score for score in scores]
    low, high = max(scaled) - 1.0, max(scaled)
    for _ in range(100):
        middle = (low + high) / 2
        total = sum(max(score - middle, 0.0) ** (1 / (alpha - 1)) for score in scaled)
        low, high = (middle, high) if total > 1 else (low, middle)
    return [max(score - low, 0.0) ** (1 / (alpha - 1)) for score in scaled]


def projected(scores):
    """The point of the simplex that is nearest, by the number of keys that have weight (1602.02068, algorithm 1)."""
    falling = sorted(scores, reverse=True)
    support = max(k for k in range(1, len(scores) + 1) if 1 + k * falling[k - 1] > sum(falling[:k]))
    threshold = (sum(falling[:support]) - 1) / support
    return [max(score - threshold, 0.0) for score in scores]


# The value, and its weights of the keys of head n that are allowed, from their scores.
ROWS = {
    'softmax': (SoftmaxWeights(), lambda scores, n: exponentials(scores)),
    'learned sink': (SoftmaxWeights(SINK), lambda scores, n: exponentials(scores, float(SINK[n]))),
    'softmax plus one': (SoftmaxWeights(jnp.zeros(N)), lambda scores, n: exponentials(scores, 0.0)),
    'sigmoid': (
        SigmoidWeights(-math.log(5)),
        lambda scores, n: [1 / (1 + math.exp(-score) * 5) for score in scores],
    ),
    'scalable': (
        ScalableWeights(SINK),
        lambda scores, n: exponentials([float(SINK[n]) * math.log(len(scores)) * score for score in scores]),
    ),
    'top 1': (TopKWeights(1), lambda scores, n: top(scores, 1)),
    'top 3': (TopKWeights(3), lambda scores, n: top(scores, 3)),
    'entmax 1.2': (EntmaxWeights(1.2), lambda scores, n: sparse(scores, 1.2)),
    'entmax 1.5': (EntmaxWeights(1.5), lambda scores, n: sparse(scores, 1.5)),
    'sparsemax': (EntmaxWeights(2.0), lambda scores, n: projected(scores)),
}
VALUES = {**{name: value for name, (value, _) in ROWS.items()}, 'talking heads': TalkingHeadsWeights(BEFORE, AFTER)}


def by_rows(scores, row):
    """Weights by a loop over the rows, from the keys that are allowed."""
    weights = np.zeros(scores.shape)
    for b, n, i in np.ndindex(B, N, T):
        (keys,) = np.nonzero(np.asarray(ALLOWED)[b, 0, i])
        if len(keys):
            weights[b, n, i, keys] = row([float(scores[b, n, i, j]) for j in keys], n)
    return weights


@pytest.mark.parametrize('name', ROWS)
def test_weights_are_those_of_the_equation(name):
    value, row = ROWS[name]
    np.testing.assert_allclose(value(SCORES, ALLOWED), by_rows(SCORES, row), atol=NEAR)


def test_talking_heads_are_those_of_the_equation():
    mixed = sum(np.asarray(SCORES)[:, [n]] * np.asarray(BEFORE)[n][:, None, None] for n in range(N))
    weights = by_rows(mixed, lambda scores, n: exponentials(scores))
    expected = sum(weights[:, [n]] * np.asarray(AFTER)[n][:, None, None] for n in range(N))
    np.testing.assert_allclose(VALUES['talking heads'](SCORES, ALLOWED), expected, atol=1e-5)


@pytest.mark.parametrize('name', VALUES)
def test_what_is_not_allowed_has_no_weight_and_no_part(name):
    """Its score may be anything; and a row without keys is zeros, with gradients that are finite."""
    value = VALUES[name]
    assert isinstance(value, RowSoftmax)

    @jax.jit
    def run(scores):
        return value(scores, ALLOWED), jax.grad(lambda scores: (DIRECTION * value(scores, ALLOWED)).sum())(scores)

    weights, gradient = run(SCORES)
    closed = np.broadcast_to(~np.asarray(ALLOWED), weights.shape)
    np.testing.assert_array_equal(weights[closed], 0.0)
    np.testing.assert_array_equal(gradient[closed], 0.0)
    assert np.isfinite(gradient).all()
    for got, expected in zip(run(jnp.where(ALLOWED, SCORES, 50.0)), (weights, gradient), strict=True):
        np.testing.assert_array_equal(got, expected)


def differences(function, x, direction):
    """The derivative of a function along a direction, from its values on either side."""
    step = FINITE_STEP * direction
    return (function(x + step) - function(x - step)) / (2 * FINITE_STEP)


@pytest.mark.parametrize('name', VALUES)
def test_gradients_are_those_of_differences(name):
    def loss(scores, value):
        return (DIRECTION * value(scores, ALLOWED)).sum()

    by_scores, by_value = jax.grad(loss, argnums=(0, 1))(SCORES, VALUES[name])
    along = jnp.array(np.random.default_rng(1).normal(size=SCORES.shape), jnp.float32)
    expected = differences(lambda scores: loss(scores, VALUES[name]), SCORES, along)
    assert name == 'top 1' or jnp.abs(by_scores).max() > 0.05  # the weight of an only key is always one
    np.testing.assert_allclose((by_scores * along).sum(), expected, rtol=FINITE_NEAR, atol=FINITE_NEAR)
    for leaf, place in zip(jax.tree.leaves(by_value), range(9), strict=False):
        leaves, tree = jax.tree.flatten(VALUES[name])

        def moved(changed, place=place, leaves=leaves, tree=tree):
            return loss(SCORES, tree.unflatten([*leaves[:place], changed, *leaves[place + 1 :]]))

        expected = differences(moved, leaves[place], jnp.cos(leaves[place]))
        np.testing.assert_allclose((leaf * jnp.cos(leaves[place])).sum(), expected, rtol=FINITE_NEAR, atol=FINITE_NEAR)


@pytest.mark.long
@pytest.mark.parametrize('alpha', [1.1, 1.5, 2.0])
def test_the_gradient_of_entmax_is_that_of_its_equation(alpha):
    """The Jacobian in 1905.05702 is diag(s) - s s^T / sum(s), s = p^(2 - alpha) where p > 0."""
    row = SCORES[0, 0, 0]
    jacobian = jax.jacrev(lambda row: masked_entmax(alpha, row[None], jnp.ones((1, S), bool))[0])(row)
    p = np.array(sparse([float(score) for score in row], alpha))
    s = np.where(p > 0, np.where(p > 0, p, 1.0) ** (2 - alpha), 0.0)
    np.testing.assert_allclose(jacobian, np.diag(s) - np.outer(s, s) / s.sum(), atol=GRADIENT_NEAR)


def assert_softmax(weights, atol=NEAR):
    np.testing.assert_allclose(weights, masked_softmax(SCORES, ALLOWED), atol=atol)


@pytest.mark.parametrize('sink', [-jnp.inf, -1e30, -50.0])
def test_a_sink_that_takes_nothing_is_softmax(sink):
    assert_softmax(SoftmaxWeights(jnp.full(N, sink))(SCORES, ALLOWED))


def test_softmax_plus_one_is_a_sink_at_zero_and_may_read_nothing():
    value = build({'use': 'softmax.softmax_one:SoftmaxOne'})()(N)
    np.testing.assert_array_equal(value.sink, 0.0)
    assert value(SCORES - 30.0, ALLOWED).sum() < 1e-9


def test_a_sink_that_takes_everything_leaves_nothing():
    weights = SoftmaxWeights(jnp.full(N, 1e30))(SCORES, ALLOWED)
    np.testing.assert_array_equal(weights, 0.0)


def test_scalable_softmax_starts_as_softmax_for_rows_of_its_length():
    value, _ = build({'use': 'softmax.scalable:Scalable', 'length': S})().init_with_output(jax.random.key(0), N)
    np.testing.assert_allclose(value(SCORES, EVERYTHING), masked_softmax(SCORES, EVERYTHING), atol=NEAR)


@pytest.mark.long
def test_scalable_softmax_keeps_the_highest_weight_of_a_long_row():
    """The paper's figure 1: one score of 3 among others of -2, with a = 0.43."""
    for keys in (10, 100, 1000):
        scores = jnp.full((1, 1, 1, keys), -2.0).at[..., -1].set(3.0)
        allowed = jnp.ones((1, 1, 1, keys), bool)
        assert ScalableWeights(jnp.array([0.43]))(scores, allowed)[0, 0, 0, -1] > 0.9
    assert masked_softmax(scores, allowed)[0, 0, 0, -1] < 0.2


@pytest.mark.parametrize('k', [S, S + 5])
def test_top_k_of_all_keys_is_softmax(k):
    assert_softmax(TopKWeights(k)(SCORES, ALLOWED))


def test_keys_that_tie_with_the_last_are_kept():
    scores = jnp.array([[[[1.0, 3.0, 2.0, 2.0, 0.0]]]])
    weights = TopKWeights(2)(scores, jnp.ones((1, 1, 1, 5), bool))
    np.testing.assert_array_equal(weights[0, 0, 0] > 0, [False, True, True, True, False])
    np.testing.assert_allclose(weights.sum(), 1.0, atol=NEAR)


def test_entmax_near_one_is_softmax():
    assert_softmax(EntmaxWeights(1.0001)(SCORES, ALLOWED), 1e-3)


@pytest.mark.parametrize('alpha', [1.01, 1.5, 2.0])
def test_entmax_of_very_different_or_equal_scores(alpha):
    rows = jnp.array([[1e4, -1e4, 0.0, 0.0], [7.0, 7.0, 7.0, 7.0]])
    weights = masked_entmax(alpha, rows, jnp.ones((2, 4), bool))
    np.testing.assert_allclose(weights, [[1.0, 0.0, 0.0, 0.0], [0.25] * 4], atol=NEAR)


def test_the_larger_alpha_the_fewer_keys():
    counts = [(EntmaxWeights(alpha)(SCORES, EVERYTHING) > 0).sum() for alpha in (1.1, 1.5, 2.0)]
    assert SCORES.size >= counts[0] > counts[1] > counts[2] >= B * N * T


def test_a_sigmoid_of_scores_near_zero_sums_to_about_one():
    weights = build({'use': 'softmax.sigmoid:Sigmoid', 'length': S})()(N)(0.01 * SCORES, EVERYTHING)
    np.testing.assert_allclose(weights.sum(axis=-1), 1.0, atol=0.15)


def test_heads_that_talk_to_themselves_alone_are_softmax():
    assert_softmax(TalkingHeadsWeights(jnp.eye(N), jnp.eye(N))(SCORES, ALLOWED))


PARAMETERS = {
    'softmax.softmax:Softmax': {},
    'softmax.softmax_one:SoftmaxOne': {},
    'softmax.sink:LearnedSink': {'sink': (N,)},
    'softmax.talking_heads:TalkingHeads': {'before': (N, N), 'after': (N, N)},
}


@pytest.mark.parametrize('use', PARAMETERS)
def test_parameters_are_by_head(use):
    value, variables = build({'use': use})().init_with_output(jax.random.key(0), N)
    assert jax.tree.map(jnp.shape, variables.get('params', {})) == PARAMETERS[use]
    assert isinstance(value, OnlineSoftmax) == (use != 'softmax.talking_heads:TalkingHeads')


WHOLE_ROW = {
    'softmax.top_k:TopK': {'k': 3},
    'softmax.entmax:Entmax': {'alpha': 1.5},
    'softmax.scalable:Scalable': {'length': 4},
    'softmax.talking_heads:TalkingHeads': {},
}


@pytest.mark.parametrize('use', WHOLE_ROW)
def test_what_needs_a_whole_row_is_refused_by_the_blockwise_kernel_with_its_reason(use):
    given = {'use': use, **WHOLE_ROW[use]}
    with pytest.raises(UserError) as caught:
        build({'use': 'attention.blockwise:Blockwise', 'softmax': given}, 'kernel')
    (reason,) = build(given).target.why_not.values()
    assert str(caught.value) == f"kernel.softmax: {use} is not an OnlineSoftmaxVariant, as {reason}: it has no 'online'"
    assert build({'use': 'attention.plain:Plain', 'softmax': given})['softmax'].name == use


@pytest.mark.parametrize(
    ('spec', 'words'),
    [
        ({'use': 'softmax.top_k:TopK', 'k': 0}, 'k must be at least 1'),
        ({'use': 'softmax.sigmoid:Sigmoid', 'length': 0}, 'length must be at least 1'),
        ({'use': 'softmax.scalable:Scalable', 'length': 1}, 'length must be at least 2, not 1'),
        ({'use': 'softmax.entmax:Entmax', 'alpha': 1.0}, 'alpha must be above 1 and at most 2, not 1.0'),
        ({'use': 'softmax.entmax:Entmax', 'alpha': 2.5}, 'alpha must be above 1 and at most 2'),
    ],
)
def test_settings_that_do_not_fit_are_refused(spec, words):
    with pytest.raises(UserError, match=words):
        build(spec)().init(jax.random.key(0), N)
