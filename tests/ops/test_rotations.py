# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Rotations by position: relative, and no change of length."""

import jax.numpy as jnp
import numpy as np
import pytest

from saccade.ops.rotary import angles, frequencies, linear, llama3, rotate
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
    ratio = llama3(plain, factor=8.0, low=1.0, high=4.0, context=8192) / plain
    np.testing.assert_allclose(ratio[turns > 4], 1.0)
    np.testing.assert_allclose(ratio[turns < 1], 1 / 8)
    between = ratio[(turns >= 1) & (turns <= 4)]
    assert between.size > 0
    assert ((between > 1 / 8) & (between < 1)).all()


@pytest.mark.parametrize(
    'scale',
    [
        lambda plain: linear(plain, 0.0),
        lambda plain: llama3(plain, 0.0, 1.0, 4.0, 8),
        lambda plain: llama3(plain, 8.0, 4.0, 4.0, 8),
        lambda plain: llama3(plain, 8.0, 1.0, 4.0, 0),
    ],
)
def test_scaling_that_makes_no_sense_is_refused(scale):
    with pytest.raises(UserError):
        scale(frequencies(H, BASE))
