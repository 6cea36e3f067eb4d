# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Convolution along tokens: the sum over taps."""

import jax.numpy as jnp
import numpy as np
import pytest

from saccade.ops.convolution import convolve

D, TAPS = 4, 64


@pytest.mark.parametrize('shape', [(TAPS, D), (TAPS, D, D)], ids=['depthwise', 'matrices'])
def test_taps_are_added_in_float32_whatever_the_dtype_of_the_tokens(shape):
    """Positive terms, so nothing cancels: the sum is off by the rounding of a product and of the result."""
    draw = np.random.default_rng(0)
    x, kernel = (jnp.asarray(draw.uniform(1, 2, of), jnp.bfloat16) for of in ((1, TAPS + 2, D), shape))
    y = convolve(x, jnp.ones(x.shape[:2], int), kernel, TAPS - 1)
    assert y.dtype == jnp.bfloat16
    wide, taps = np.asarray(x, np.float64)[0], np.asarray(kernel, np.float64)
    expected = [
        sum(token * tap if tap.ndim == 1 else token @ tap for token, tap in zip(wide[start:], taps, strict=False))
        for start in range(3)
    ]
    np.testing.assert_allclose(np.asarray(y[0], np.float64), expected, rtol=2**-8)
