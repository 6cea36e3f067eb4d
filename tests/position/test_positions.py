# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Each position scheme against its equation."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.ops.mask import Full
from saccade.ops.scoring import Scoring
from saccade.position.learned import Learned
from saccade.position.none import NoPosition
from saccade.position.relative_bias import Buckets, RelativeBias
from saccade.position.rotary import Rotary
from saccade.position.sinusoid import Sinusoid
from saccade.types import UserError

NEAR = 1e-5
B, T, D = 2, 4, 6
X = jnp.array(np.random.default_rng(0).normal(size=(B, T, D)), jnp.float32)
HEADS = jnp.array(np.random.default_rng(1).normal(size=(B, T, 3, D)), jnp.float32)
POSITIONS = jnp.array([[0, 1, 2, 3], [5, 0, 1, 9]])


def test_sinusoid():
    expected = np.asarray(X).copy()
    for b, t, c in np.ndindex(B, T, D // 2):
        angle = int(POSITIONS[b, t]) / 100.0 ** (2 * c / D)
        expected[b, t, 2 * c] += math.sin(angle)
        expected[b, t, 2 * c + 1] += math.cos(angle)
    np.testing.assert_allclose(Sinusoid(100.0).apply({}, X, POSITIONS), expected, atol=NEAR)


def test_learned_adds_the_row_of_each_position():
    table = jnp.array(np.random.default_rng(2).normal(size=(10, D)), jnp.float32)
    y = Learned(10).apply({'params': {'positions': table}}, X, POSITIONS)
    np.testing.assert_allclose(y, np.asarray(X) + np.asarray(table)[np.asarray(POSITIONS)], atol=NEAR)


def test_a_sequence_longer_than_the_learned_positions_is_refused():
    with pytest.raises(UserError, match=r'4 tokens .* 3 learned positions'):
        jax.eval_shape(lambda: Learned(3).init(jax.random.key(0), X, POSITIONS))


def test_no_position_changes_nothing():
    np.testing.assert_array_equal(NoPosition().apply({}, X, POSITIONS), X)
    np.testing.assert_array_equal(NoPosition().apply({}, HEADS, POSITIONS, method='rotate'), HEADS)
    assert NoPosition().terms(3) == ()


def test_rotary_makes_products_depend_on_differences():
    q, k = HEADS[:, :1], HEADS[:, 1:2]

    def product(i, j):
        places = [jnp.full((B, 1), place) for place in (i, j)]
        turned = [Rotary(50.0).apply({}, x, place, method='rotate') for x, place in zip((q, k), places, strict=True)]
        return (turned[0] * turned[1]).sum(axis=-1)

    np.testing.assert_allclose(product(9, 4), product(5, 0), atol=NEAR)
    assert jnp.abs(product(9, 4) - product(4, 4)).max() > 0.01


def test_rotary_turns_by_position_and_not_by_place():
    turned = Rotary().apply({}, HEADS, POSITIONS, method='rotate')
    moved = Rotary().apply({}, HEADS[:, ::-1], POSITIONS[:, ::-1], method='rotate')
    np.testing.assert_array_equal(moved, turned[:, ::-1])
    np.testing.assert_array_equal(turned[1, 1], HEADS[1, 1])


@pytest.mark.parametrize(
    'use',
    [
        lambda: Rotary().apply({}, HEADS[..., :3], POSITIONS, method='rotate'),
        lambda: Sinusoid().apply({}, X[..., :3], POSITIONS),
    ],
)
def test_an_odd_width_is_refused(use):
    with pytest.raises(UserError, match='even'):
        use()


def one_sided(distance, count, furthest):
    """Bucket of a distance that is not negative, by the rule of T5."""
    exact = count // 2
    if distance < exact:
        return distance
    share = math.log(distance / exact) / math.log(furthest / exact)
    return min(exact + int(share * (count - exact)), count - 1)


@pytest.mark.parametrize(('count', 'furthest'), [(32, 128), (8, 20), (4, 100)])
def test_buckets_of_keys_before(count, furthest):
    distances = range(-150, 30)
    expected = [one_sided(max(0, -distance), count, furthest) for distance in distances]
    given = Buckets(count, furthest, both_sides=False)(jnp.array([distances]))
    np.testing.assert_array_equal(given, [expected])


def test_buckets_of_keys_on_both_sides():
    distances = range(-150, 150)
    expected = [(16 if distance > 0 else 0) + one_sided(abs(distance), 16, 128) for distance in distances]
    np.testing.assert_array_equal(Buckets(32, 128, both_sides=True)(jnp.array([distances])), [expected])


def test_relative_bias_has_a_value_for_each_bucket_and_head():
    module = RelativeBias(buckets=8, furthest=20)
    (term,), variables = module.init_with_output(jax.random.key(0), 3, method='terms')
    table = np.asarray(variables['params']['table'])
    assert table.shape == (8, 3)
    scores = term.change(jnp.zeros((B, 3, T, T)), Scoring(Full()).pairs(jnp.arange(T), jnp.arange(T)))
    expected = [[[table[max(0, i - j), n] for j in range(T)] for i in range(T)] for n in range(3)]
    np.testing.assert_array_equal(scores[0], expected)


@pytest.mark.parametrize('settings', [{'buckets': 1}, {'buckets': 3, 'both_sides': True}, {'furthest': 16}])
def test_buckets_that_cannot_be_made_are_refused(settings):
    with pytest.raises(UserError):
        RelativeBias(**settings).init(jax.random.key(0), 3, method='terms')
