# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Positions of a grid of patches: learned and interpolated, sinusoids, and rotations after a class token."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.position.learned_grid import LearnedGrid, cubic
from saccade.position.rotary_2d import Rotary2D
from saccade.position.sinusoid_2d import Sinusoid2D
from saccade.types import UserError

D = 8


def places(count):
    return jnp.broadcast_to(jnp.arange(count), (1, count))


def test_each_place_has_its_own_row():
    part, x = LearnedGrid(rows=2, columns=3, before=1), jnp.zeros((1, 7, D))
    variables = part.init(jax.random.key(0), x, places(7))
    np.testing.assert_array_equal(part.apply(variables, x, places(7))[0], variables['params']['positions'])


@pytest.mark.long
def test_a_larger_grid_is_interpolated_along_both_axes_and_the_class_token_stays():
    small, large = LearnedGrid(rows=3, columns=3, before=1), LearnedGrid(rows=3, columns=3, before=1, onto=(6, 5))
    row, column = (axis.ravel() for axis in jnp.meshgrid(jnp.arange(3.0), jnp.arange(3.0), indexing='ij'))
    table = jnp.concatenate([jnp.full((1, 2), 9.0), jnp.stack([row, column], axis=-1)])
    x = jnp.zeros((1, 31, 2))
    found = large.apply({'params': {'positions': table}}, x, places(31))[0]
    np.testing.assert_array_equal(found[0], [9, 9])
    grid = np.asarray(found[1:]).reshape(6, 5, 2)
    np.testing.assert_allclose(grid[..., 0], np.broadcast_to(grid[:, :1, 0], (6, 5)), atol=1e-6)
    np.testing.assert_allclose(grid[..., 1], np.broadcast_to(grid[:1, :, 1], (6, 5)), atol=1e-6)
    assert (np.diff(grid[..., 0], axis=0) > 0).all()
    assert (np.diff(grid[..., 1], axis=1) > 0).all()
    np.testing.assert_allclose(grid[..., 0].mean(), 1, atol=1e-6)
    with pytest.raises(UserError, match='31 places are more than the 1 before the grid and its 3 by 3'):
        small.apply({'params': {'positions': table}}, x, places(31))


@pytest.mark.parametrize(('size', 'onto'), [(4, 4), (4, 9), (7, 3)])
def test_cubic_weights_sum_to_one_and_a_line_stays_a_line_inside(size, onto):
    matrix = cubic(size, onto)
    np.testing.assert_allclose(matrix.sum(axis=-1), 1, atol=1e-6)
    if size == onto:
        np.testing.assert_array_equal(matrix, np.eye(size))


def test_sinusoids_are_those_of_row_and_column():
    x, before, columns = jnp.zeros((1, 13, D)), 1, 4
    found = np.asarray(Sinusoid2D(columns=columns, before=before, base=100.0).apply({}, x, places(13)))[0]
    np.testing.assert_array_equal(found[0], 0)
    waves = 1 / 100 ** (np.arange(D // 4) / (D // 4))
    for place, row in enumerate(found[1:]):
        y, x_ = divmod(place, columns)
        wanted = [np.sin(x_ * waves), np.cos(x_ * waves), np.sin(y * waves), np.cos(y * waves)]
        np.testing.assert_allclose(row, np.concatenate(wanted), atol=1e-5)
    with pytest.raises(UserError, match='divisible by 4'):
        Sinusoid2D(columns=2).apply({}, jnp.zeros((1, 4, 6)), places(4))


@pytest.mark.long
def test_rotations_count_from_the_first_patch_and_a_class_token_is_not_rotated():
    q = jax.random.normal(jax.random.key(0), (1, 7, 2, D))
    plain, _ = Rotary2D(columns=3).rotate(q[:, 1:], q[:, 1:], places(6), places(6))
    after, _ = Rotary2D(columns=3, before=1).rotate(q, q, places(7), places(7))
    np.testing.assert_allclose(after[:, 1:], plain, atol=1e-6)
    np.testing.assert_allclose(after[:, 0], q[:, 0], atol=1e-6)
