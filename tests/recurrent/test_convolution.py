# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Convolution as a mixer: against a plain loop, in its reach, and step by step with less room than the row."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.types import LayerContext, UserError

B, T, D = 2, 8, 3
X = jnp.array(np.random.default_rng(0).normal(size=(B, T, D)), jnp.float32)
SEGMENTS = jnp.array([[1, 1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 2, 2, 2, 2, 0]])
CONTEXT = LayerContext(jnp.tile(jnp.arange(T), (B, 1)), SEGMENTS)
CAUSAL, CENTRED = 'recurrent.mixer.convolution:Convolution', 'recurrent.mixer.centred_convolution:CentredConvolution'


@functools.cache
def convolution(use, depthwise, size=3):
    module = build({'use': use, 'size': size, 'depthwise': depthwise})()
    params = module.init(jax.random.key(0), X, CONTEXT, False)
    return module, jax.tree.map(lambda leaf: leaf + 0.1, params)


@pytest.mark.parametrize('depthwise', [False, True])
@pytest.mark.parametrize(('use', 'behind', 'ahead'), [(CAUSAL, 2, 0), (CENTRED, 1, 1)])
def test_it_is_the_loop_over_taps_within_a_document(use, behind, ahead, depthwise):
    module, params = convolution(use, depthwise)
    kernel, bias = (np.asarray(params['params'][name]) for name in ('output', 'bias'))
    taps = [np.diag(row) for row in kernel] if depthwise else kernel.reshape(3, D, D)
    expected = np.tile(bias, (B, T, 1))
    for b in range(B):
        for t in range(T):
            for tap, j in enumerate(range(t - behind, t + ahead + 1)):
                if 0 <= j < T and SEGMENTS[b, j] == SEGMENTS[b, t]:
                    expected[b, t] += np.asarray(X)[b, j] @ taps[tap]
    found = module.apply(params, X, CONTEXT, False)
    real = SEGMENTS != 0
    np.testing.assert_allclose(found[real], expected[real], atol=1e-5)


@pytest.mark.long
@pytest.mark.parametrize('size', [1, 3])
def test_steps_remember_no_more_than_the_taps_reach_and_pass_over_padding(size):
    module, params = convolution(CAUSAL, False, size)
    row, positions = X[:1, :5], jnp.arange(5)[None]
    whole = module.apply(params, row, LayerContext(positions, jnp.ones((1, 5), jnp.int32)), False)
    # The same five tokens in three chunks, with padding on either side of them and between.
    chunks = [([0, 1, 1, 0], [0, 0, 1, 0]), ([1], [2]), ([0, 1, 0, 1], [0, 3, 0, 4])]
    state, found = module.apply(params, row[:, :1], 99, method='init_state'), []
    assert state.x.shape == (1, size - 1, D)
    for real, at in chunks:
        x = jnp.where(jnp.array(real)[None, :, None] == 1, row[:, jnp.array(at)], 7.0)
        y, state = module.apply(params, x, LayerContext(jnp.array([at]), jnp.array([real])), state, method='step')
        found.append(y[0, np.array(real) == 1])
    np.testing.assert_allclose(jnp.concatenate(found), whole[0], atol=1e-5)


def test_no_size_is_refused():
    with pytest.raises(UserError, match='size must be at least 1'):
        convolution(CAUSAL, False, 0)
