# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Rotations by position: relative, and no change of length."""

import jax.numpy as jnp
import numpy as np
import pytest

from saccade.ops.rotary import (
    angles,
    decays,
    frequencies,
    halves,
    highest,
    linear,
    llama3,
    longrope,
    neighbours,
    ntk,
    rotate,
    turn,
    yarn,
)
from saccade.types import UserError

NEAR = 1e-4
BASE, H = 100.0, 8
RANDOM = np.random.default_rng(0)
Q, K = (jnp.array(RANDOM.normal(size=(1, 1, 1, H)), jnp.float32) for _ in range(2))


def turned(x, position):
    return rotate(x, angles(jnp.array([[position]]), H, BASE))


def product(i, j):
    return float((turned(Q, i) * turned(K, j)).sum())


def test_a_product_depends_on_the_difference_alone():
    for distance in (-3, 0, 5):
        products = [product(j + distance, j) for j in (3, 10, 57)]
        np.testing.assert_allclose(products, products[0], atol=NEAR)
    assert abs(product(5, 0) - product(0, 0)) > 100 * NEAR


def test_lengths_are_kept():
    np.testing.assert_allclose(jnp.linalg.norm(turned(Q, 23)), jnp.linalg.norm(Q), rtol=NEAR)


def test_position_zero_changes_nothing():
    np.testing.assert_array_equal(turned(Q, 0), Q)


def test_each_pair_turns_by_its_own_angle():
    x = turned(Q, 7)[0, 0, 0]
    for c in range(H // 2):
        angle = 7 * BASE ** (-2 * c / H)
        first, second = np.asarray(Q)[0, 0, 0, [c, c + H // 2]]
        np.testing.assert_allclose(x[c], first * np.cos(angle) - second * np.sin(angle), atol=NEAR)
        np.testing.assert_allclose(x[c + H // 2], second * np.cos(angle) + first * np.sin(angle), atol=NEAR)


def test_frequencies_fall_from_one_towards_one_over_the_base():
    np.testing.assert_allclose(frequencies(4, BASE), [1.0, BASE**-0.5], rtol=NEAR)


def test_the_dtype_is_kept():
    assert turned(Q.astype(jnp.bfloat16), 3).dtype == jnp.bfloat16


def test_linear_scaling_stretches_every_wavelength():
    np.testing.assert_allclose(linear(frequencies(H, BASE), 4.0), frequencies(H, BASE) / 4.0)


def test_llama3_scaling_stretches_the_long_wavelengths_alone():
    plain = frequencies(64, 500_000.0)
    turns = 8192 * plain / (2 * np.pi)
    ratio = llama3(plain, factor=8.0, low=1.0, high=4.0, context_length=8192) / plain
    np.testing.assert_allclose(ratio[turns > 4], 1.0)
    np.testing.assert_allclose(ratio[turns < 1], 1 / 8)
    between = ratio[(turns >= 1) & (turns <= 4)]
    assert between.size > 0
    assert ((between > 1 / 8) & (between < 1)).all()


def test_ntk_scaling_is_another_base():
    base = BASE * 4.0 ** (H / (H - 2))
    np.testing.assert_allclose(ntk(frequencies(H, BASE), 4.0), frequencies(H, base))


def test_ntk_scaling_stretches_the_longest_wave_by_the_factor_and_keeps_the_shortest():
    ratio = ntk(frequencies(64, BASE), 4.0) / frequencies(64, BASE)
    np.testing.assert_allclose(ratio[[0, -1]], [1.0, 1 / 4])
    assert (np.diff(ratio) < 0).all()


def test_yarn_scaling_stretches_the_long_wavelengths_alone():
    plain = frequencies(64, 10_000.0)
    turns = 4096 * plain / (2 * np.pi)
    waves = yarn(plain, 8.0, 4096)
    ratio = waves.frequencies / plain
    # The pairs next to either end are rounded outwards to whole ones.
    keeps, stretches = np.flatnonzero(turns > 32)[-1], np.flatnonzero(turns < 1)[0]
    np.testing.assert_allclose(ratio[: keeps + 1], 1.0)
    np.testing.assert_allclose(ratio[stretches:], 1 / 8)
    slope = np.diff(ratio[keeps : stretches + 1])
    np.testing.assert_allclose(slope, (1 / 8 - 1) / len(slope))
    assert waves.gain == pytest.approx(0.1 * np.log(8.0) + 1)


def test_yarn_takes_a_gain_of_its_own_and_has_none_without_stretching():
    plain = frequencies(H, BASE)
    assert yarn(plain, 8.0, 64, gain=1.5).gain == 1.5
    waves = yarn(plain, 1.0, 64)
    assert waves.gain == 1.0
    np.testing.assert_allclose(waves.frequencies, plain)


def test_longrope_stretches_each_wavelength_by_its_own_factor():
    stretches = (1.0, 1.5, 2.0, 5.0)
    waves = longrope(frequencies(H, BASE), stretches, 32.0, 4096)
    np.testing.assert_allclose(waves.frequencies, frequencies(H, BASE) / np.array(stretches))
    assert waves.gain == pytest.approx(np.sqrt(1 + np.log(32) / np.log(4096)))


def by_pairs(x, position, share):
    """Pair c of H/2 turns by position base^(-2c/H) where c < share H/2, and not at all elsewhere."""
    y = np.array(x, np.float64)[0, 0, 0]
    for c in range(H // 2):
        angle = position * BASE ** (-2 * c / H) if c < share * H / 2 else 0.0
        one, two = y[c], y[c + H // 2]
        y[c], y[c + H // 2] = one * np.cos(angle) - two * np.sin(angle), two * np.cos(angle) + one * np.sin(angle)
    return y


@pytest.mark.parametrize('share', [0.25, 0.5, 0.75, 1.0])
def test_the_highest_frequencies_turn_and_the_others_do_not(share):
    given = rotate(Q, turn(jnp.array([[7]]), highest(frequencies(H, BASE), share)))
    np.testing.assert_allclose(given[0, 0, 0], by_pairs(Q, 7, share), atol=NEAR)


def test_all_of_the_frequencies_are_those_there_are():
    np.testing.assert_array_equal(highest(frequencies(H, BASE), 1.0), frequencies(H, BASE))


def test_a_gain_stretches_what_is_turned():
    angle = angles(jnp.array([[7]]), H, BASE)
    np.testing.assert_allclose(rotate(Q, angle, 1.5), 1.5 * rotate(Q, angle), rtol=NEAR)
    gain = jnp.arange(1.0, 5.0)[None, None]
    np.testing.assert_allclose(rotate(Q, angle, gain), jnp.tile(gain, 2)[:, :, None] * rotate(Q, angle), rtol=NEAR)


def test_pairings_give_the_same_products_of_rearranged_features():
    order = np.array([0, 2, 4, 6, 1, 3, 5, 7])
    near, far = (angles(jnp.array([[place]]), H, BASE) for place in (3, 9))
    given = (rotate(Q, near, 1.0, neighbours) * rotate(K, far, 1.0, neighbours)).sum()
    expected = (rotate(Q[..., order], near, 1.0, halves) * rotate(K[..., order], far, 1.0, halves)).sum()
    np.testing.assert_allclose(given, expected, rtol=NEAR)
    assert abs(given - (rotate(Q, near) * rotate(K, far)).sum()) > 100 * NEAR


def test_decays_rise_to_one_with_the_wavelength():
    np.testing.assert_allclose(decays(4, 0.4), [0.4 / 1.4, 0.9 / 1.4])


@pytest.mark.parametrize(
    'scale',
    [
        lambda plain: linear(plain, 0.0),
        lambda plain: llama3(plain, 0.0, 1.0, 4.0, 8),
        lambda plain: llama3(plain, 8.0, 4.0, 4.0, 8),
        lambda plain: llama3(plain, 8.0, 1.0, 4.0, 0),
        lambda plain: ntk(plain, 0.0),
        lambda plain: ntk(plain[:1], 2.0),
        lambda plain: yarn(plain, -1.0, 8),
        lambda plain: yarn(plain, 8.0, 0),
        lambda plain: yarn(plain, 8.0, 8, fast=1.0, slow=1.0),
        lambda plain: highest(plain, 0.1),
        lambda plain: highest(plain, 1.5),
        lambda plain: longrope(plain, (1.0, 2.0), 8.0, 64),
        lambda plain: longrope(plain, (1.0, 2.0, 0.0, 1.0), 8.0, 64),
        lambda plain: longrope(plain, (1.0, 2.0, 2.0, 1.0), 8.0, 1),
    ],
)
def test_scaling_that_makes_no_sense_is_refused(scale):
    with pytest.raises(UserError):
        scale(frequencies(H, BASE))
