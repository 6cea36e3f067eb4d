# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Convolution by Fourier transforms: it is the direct sum, within documents, and nothing of a later token is in it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.ops.convolution import convolve_long, convolve_newest

F32_RELATIVE = 1e-5  # of the largest element
B, D = 2, 3
LENGTHS = [1, 5, 16, 17, 40, 130]


def inputs(T, documents=4):
    """Tokens, segments of documents with padding on the left and on the right, and a kernel of varying size."""
    random = np.random.default_rng(T)
    x, kernel = random.normal(size=(B, T, D)), random.normal(size=(T, D)) * np.exp(-np.arange(T) / 20)[:, None]
    segments = np.sort(random.integers(1, documents + 1, size=(B, T)), axis=1)
    segments[0, : T // 7], segments[1, T - T // 5 :] = 0, 0
    return x, segments, kernel


def direct(x, segments, kernel):
    y = np.zeros(x.shape)
    for b, t in np.ndindex(*x.shape[:2]):
        for s in range(t + 1):
            if segments[b, s] == segments[b, t] and t - s < len(kernel):
                y[b, t] += kernel[t - s] * x[b, s]
    return y


def run(*arrays):
    return jax.jit(convolve_long)(*(jnp.asarray(x, jnp.int32 if x.dtype == int else jnp.float32) for x in arrays))


def assert_near(given, expected):
    np.testing.assert_allclose(given, expected, rtol=0, atol=F32_RELATIVE * np.abs(expected).max())


@pytest.mark.parametrize('documents', [1, 4])
@pytest.mark.parametrize('T', LENGTHS)
def test_it_is_the_direct_sum_within_documents(T, documents):
    arrays = inputs(T, documents)
    assert_near(run(*arrays), direct(*arrays))


def test_a_short_kernel_is_zero_beyond_its_end():
    x, segments, kernel = inputs(70, 1)
    assert_near(run(x, segments, kernel[:21]), direct(x, segments, kernel[:21]))


@pytest.mark.parametrize('T', LENGTHS)
def test_the_newest_output_is_the_last_one(T):
    x, segments, kernel = inputs(T)
    segments[:, -1] = 4
    for taps in (kernel, kernel[:3]):
        given = convolve_newest(*(jnp.asarray(each) for each in (x, segments, taps)))
        assert_near(given, direct(x, segments, taps)[:, -1:])


def test_no_rounding_error_of_later_tokens_or_other_documents_is_in_an_output():
    """As one transform of the row would have, of the size of its largest number."""
    x, segments, kernel = inputs(130)
    y, by_place = run(x, segments, kernel), np.arange(130)
    for t in (3, 40, 64, 100):
        unread = (by_place > t) | (segments != segments[:, t : t + 1])
        other = np.where(unread[..., None], 1e6 * x + 1.0, x)
        np.testing.assert_array_equal(run(other, segments, kernel)[:, t], y[:, t])
