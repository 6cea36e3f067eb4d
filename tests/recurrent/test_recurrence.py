# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A recurrence over padded and packed rows, with a cell that anyone can follow: a running sum."""

import jax.numpy as jnp
import numpy as np

from saccade.ops.recurrence import Carried
from saccade.recurrent.cell.base import Cell, Recurrence

U = jnp.array([[1.0, 2.0, 4.0, 8.0, 16.0, 32.0]])[..., None]
NO_WEIGHTS = Recurrence(jnp.zeros((1, 1)), jnp.zeros((1, 1)), jnp.zeros(1))


class Sum(Cell):
    squares = 1

    def advance(self, R, state, u):
        return state + u


def summed(segments, reverse=False, start=0.0, before=0):
    carried = Carried(jnp.full((1, 1), start), jnp.array([before]))
    given = NO_WEIGHTS, U, jnp.array([segments]), carried, reverse
    y, after = Sum(width=1).apply({}, *given, method='run')
    return y[0, :, 0].tolist(), after.state.item(), after.segment.item()


def test_it_goes_from_token_to_token():
    assert summed([1, 1, 1, 1, 1, 1]) == ([1, 3, 7, 15, 31, 63], 63, 1)
    assert summed([1, 1, 1, 1, 1, 1], reverse=True) == ([63, 62, 60, 56, 48, 32], 63, 1)


def test_padding_leaves_the_state_as_it_was():
    assert summed([0, 0, 1, 0, 1, 0]) == ([0, 0, 4, 4, 20, 20], 20, 1)
    assert summed([0, 1, 1, 1, 0, 0], reverse=True) == ([14, 14, 12, 8, 0, 0], 14, 1)


def test_a_document_starts_from_zeros():
    assert summed([1, 1, 2, 2, 2, 0]) == ([1, 3, 4, 12, 28, 28], 28, 2)
    assert summed([1, 1, 2, 2, 2, 0], reverse=True) == ([3, 2, 28, 24, 16, 0], 3, 1)


def test_it_goes_on_from_what_is_carried_unless_another_document_begins():
    assert summed([1, 1, 0, 0, 0, 0], start=100.0, before=1)[:2] == ([101, 103, 103, 103, 103, 103], 103)
    assert summed([0, 2, 2, 0, 0, 0], start=100.0, before=1)[:2] == ([100, 2, 6, 6, 6, 6], 6)


def test_nothing_is_carried_before_the_first_token():
    carried = Carried.before({'h': jnp.ones((3, 2))})
    np.testing.assert_array_equal(carried.segment, np.zeros(3))
