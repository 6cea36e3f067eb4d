# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Stretched rotary frequencies, by what is promised of them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.ops import rotary
from saccade.types import UserError

LLAMA3 = {'factor': 8.0, 'low': 1.0, 'high': 4.0, 'context_length': 8192}


def test_linear_scaling_by_four_sees_every_fourth_position():
    x = jax.random.normal(jax.random.key(0), (1, 5, 2, 8))
    positions = jnp.arange(5)[None]
    stretched = build({'use': 'position.rotary:Rotary', 'scaling': {'use': 'ops.rotary:linear', 'factor': 4.0}})()
    bare = build({'use': 'position.rotary:Rotary'})()
    far, near = (position.rotate(x, x, at, at)[0] for position, at in ((stretched, 4 * positions), (bare, positions)))
    np.testing.assert_allclose(far, near, atol=1e-6)


def test_llama3_keeps_short_wavelengths_and_stretches_long_ones():
    before = rotary.frequencies(128, 500000.0)
    after = rotary.llama3(before, **LLAMA3)
    turns = 8192 * before / (2 * np.pi)
    short, long = turns > 4, turns < 1
    between = ~(short | long)
    assert short.any()
    assert long.any()
    assert between.any()
    np.testing.assert_array_equal(after[short], before[short])
    np.testing.assert_array_equal(after[long], before[long] / 8)
    assert np.all((after[between] < before[between]) & (after[between] > before[between] / 8))
    assert np.all(np.diff(after) < 0)


@pytest.mark.parametrize(
    'change', [{'factor': 0.0}, {'factor': -1.0}, {'context_length': 0}, {'low': 4.0}, {'low': 5.0}], ids=str
)
def test_llama3_refuses_what_makes_no_frequencies(change):
    with pytest.raises(UserError, match=r'ops\.rotary:llama3'):
        rotary.llama3(rotary.frequencies(8, 1e4), **(LLAMA3 | change))


def test_linear_refuses_what_is_not_positive():
    with pytest.raises(UserError, match=r'ops\.rotary:linear: factor must be positive, not -2'):
        rotary.linear(rotary.frequencies(8, 1e4), -2.0)
