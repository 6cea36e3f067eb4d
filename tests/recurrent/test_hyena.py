# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Hyena: the authors' outputs, its equation as a loop, decoding, and its refusals."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.recurrent.mixer.hyena import Hyena
from saccade.types import LayerContext, UserError

F32_RELATIVE = 1e-5  # of the largest element
B, T, D = 2, 40, 6
# Outputs of HyenaOperator in standalone_hyena.py, HazyResearch/safari at 02220c6, for an input and parameters of
# `waves`; its projections' biases are zeros.
RECORDED = [
    [0.101003, 0.995144, 0.974354, 0.057748],
    [-2.54653, 0.049128, 2.599618, 2.760032],
    [0.188382, -0.179163, -0.381987, -0.233614],
    [-0.203929, 0.020354, 0.225924, 0.223781],
    [-0.491818, -0.026571, 0.463105, 0.527005],
    [-0.017087, -0.223625, -0.224563, -0.019039],
    [-0.789074, -0.214765, 0.556998, 0.81666],
]


def waves(*shape, start=0):
    return jnp.array(np.sin(start + np.arange(np.prod(shape))).reshape(shape), jnp.float32)


@pytest.mark.oracle_of('recurrent.mixer.hyena:Hyena', by='HazyResearch/safari')
@pytest.mark.long
def test_outputs_are_those_that_the_authors_code_gave():
    kernel = waves(4, 12, start=1)
    params = {
        **{name: kernel[:, 4 * at : 4 * at + 4] for at, name in enumerate(('query', 'key', 'value'))},
        'convolution': {'output': waves(3, 12, start=3), 'bias': waves(12, start=4)},
        'output': waves(4, 4, start=2),
        'filter_0': waves(5, 3, start=6),
        'filter_0_bias': waves(3, start=7),
        'filter_1': waves(3, 3, start=9),
        'filter_1_bias': waves(3, start=10),
        'frequency': 2 + waves(3, start=8),
        'filter_output': waves(3, 4, start=11),
        'filter_bias': waves(4, start=5),
    }
    mixer = Hyena(length=7, bands=2, filter_width=3, filter_layers=2)
    np.testing.assert_allclose(mixer.apply({'params': params}, waves(1, 7, 4))[0], RECORDED, atol=1e-5)


@functools.cache
def hyena():
    mixer = Hyena(length=48, filter_width=8)
    params = mixer.init(jax.random.key(0), X, CONTEXT)
    return mixer, params, jax.jit(lambda x, context: mixer.apply(params, x, context))


X = jnp.array(np.random.default_rng(0).normal(size=(B, T, D)), jnp.float32)
SEGMENTS = jnp.array([[1] * 40, [1] * 7 + [2] * 25 + [3] * 3 + [0] * 5])
CONTEXT = LayerContext(jnp.tile(jnp.arange(T), (B, 1)), SEGMENTS)


def assert_near(given, expected):
    np.testing.assert_allclose(given, expected, rtol=0, atol=F32_RELATIVE * np.abs(expected).max())


@pytest.mark.long
def test_documents_longer_than_a_block_are_those_alone():
    _, _, run = hyena()
    y = run(X, CONTEXT)
    for row, places in ((0, slice(0, 40)), (1, slice(0, 7)), (1, slice(7, 32)), (1, slice(32, 35))):
        alone = X[row : row + 1, places]
        assert_near(y[row, places], run(alone, LayerContext(jnp.arange(alone.shape[1])[None]))[0])


@pytest.mark.long
@pytest.mark.parametrize('counts', [(30, 1, 1, 8), (1,) * 40], ids=['chunks', 'tokens'])
def test_steps_of_rows_longer_than_a_block_are_the_whole(counts):
    mixer, params, run = hyena()
    step = jax.jit(lambda x, context, state: mixer.apply(params, x, context, state, method='step'))
    state, parts = mixer.apply(params, X[:, :1], 40, method='init_state'), []
    assert state.inputs.x.shape == (B, 39, D)
    for end, count in zip(np.cumsum(counts), counts, strict=True):
        here = slice(end - count, end)
        context = LayerContext(CONTEXT.positions[:, here], SEGMENTS[:, here])
        y, state = step(X[:, here], context, state)
        parts.append(y)
    real = np.asarray(SEGMENTS != 0)
    assert_near(jnp.concatenate(parts, axis=1)[real], run(X, CONTEXT)[real])


def test_windows_of_the_first_and_the_last_feature_fade_after_slowest_and_fastest():
    mixer = Hyena(length=101, filter_width=1, filter_layers=1, bands=1, fastest=0.5, slowest=1.0)
    ones = {
        'frequency': jnp.ones(1),
        'filter_0': jnp.zeros((3, 1)),
        'filter_0_bias': jnp.full(1, np.pi / 2),  # whose sine is 1 for every distance
        'filter_output': jnp.ones((1, 2)),
        'filter_bias': jnp.zeros(2),
    }
    window = mixer.apply({'params': ones}, 2, method='_filter')
    np.testing.assert_allclose(window[np.array([0, 50, 100])], [[1, 1], [0.1, 0.01], [0.01, 0.0001]], rtol=1e-5)


@pytest.mark.long
@pytest.mark.parametrize('capacity', [49, 10**6])
def test_rows_longer_than_the_length_are_refused(capacity):
    mixer, params, _ = hyena()
    words = rf'recurrent\.mixer\.hyena:Hyena: {capacity} tokens exceed the length of 48'
    with pytest.raises(UserError, match=words):
        mixer.apply(params, X[:, :1], capacity, method='init_state')
    with pytest.raises(UserError, match='Hyena: 49 tokens exceed'):
        mixer.init(jax.random.key(0), jnp.zeros((B, 49, D)))
