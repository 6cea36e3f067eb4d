# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""S4D: the authors' outputs, its convolution as its recurrence, its discretisation, and its start."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from saccade.recurrent.mixer.s4d import S4D
from saccade.types import LayerContext

F32_RELATIVE = 1e-5  # of the largest element
B, T, D, M = 2, 40, 4, 3
# Outputs of S4D in models/s4/s4d.py, state-spaces/s4 at e757cef, for an input and parameters of `waves`.
RECORDED = [
    [0.293177, 0.249336, -0.061434],
    [0.260295, 0.11271, -0.415037],
    [0.28454, 0.232533, -0.111791],
    [0.27229, 0.166534, -0.348679],
    [0.273401, 0.20076, -0.186635],
    [0.282106, 0.211478, -0.27161],
    [0.262041, 0.156331, -0.274525],
]


def waves(*shape, start=0):
    return jnp.array(np.sin(start + np.arange(np.prod(shape))).reshape(shape), jnp.float32)


def params_of_waves(D, M):
    return {
        'skip': waves(D, start=1),
        'read_real': waves(D, M, start=2),
        'read_imaginary': waves(D, M, start=3),
        'log_step': waves(D, start=4) - 2,
        'log_rate': waves(D, M, start=5),
        'frequency': 3 * waves(D, M, start=6),
        'output': waves(D, 2 * D, start=7),
        'output_bias': waves(2 * D, start=8),
    }


@pytest.mark.oracle_of('recurrent.mixer.s4d:S4D', by='state-spaces/s4')
@pytest.mark.long
def test_outputs_are_those_that_the_authors_code_gave():
    y = S4D(states=2).apply({'params': params_of_waves(3, 2)}, waves(1, 7, 3))
    np.testing.assert_allclose(y[0], RECORDED, atol=1e-5)


X = jnp.array(np.random.default_rng(0).normal(size=(B, T, D)), jnp.float32)
SEGMENTS = jnp.array([[1] * 40, [0] * 3 + [1] * 7 + [2] * 25 + [3] * 5])
CONTEXT = LayerContext(jnp.tile(jnp.arange(T), (B, 1)), SEGMENTS)


@functools.cache
def s4d():
    mixer = S4D(states=M)
    params = {'params': params_of_waves(D, M)}
    return mixer, params, jax.jit(lambda x, context: mixer.apply(params, x, context))


def assert_near(given, expected):
    np.testing.assert_allclose(given, expected, rtol=0, atol=F32_RELATIVE * np.abs(expected).max())


@pytest.mark.long
@pytest.mark.parametrize('counts', [(40,), (17, 1, 22)], ids=['one chunk', 'chunks'])
def test_the_convolution_is_the_recurrence(counts):
    """Over rows longer than a block that is convolved directly, with several documents and padding."""
    mixer, params, run = s4d()
    state, parts = mixer.apply(params, X[:, :1], 99, method='init_state'), []
    for end, count in zip(np.cumsum(counts), counts, strict=True):
        here = slice(end - count, end)
        context = LayerContext(CONTEXT.positions[:, here], SEGMENTS[:, here])
        y, state = mixer.apply(params, X[:, here], context, state, method='step')
        parts.append(y)
    real = np.asarray(SEGMENTS != 0)
    assert_near(jnp.concatenate(parts, axis=1)[real], run(X, CONTEXT)[real])


@pytest.mark.long
def test_the_recurrence_is_the_differential_equation_of_an_input_held_between_tokens():
    """h' = a h + x(t), solved over a step s for each token: what a zero-order hold means."""
    mixer, params, _ = s4d()
    given = {name: np.asarray(leaf, np.float64) for name, leaf in params['params'].items()}
    a, c = -np.exp(given['log_rate']) + 1j * given['frequency'], given['read_real'] + 1j * given['read_imaginary']
    h, expected = np.zeros((D, M), complex), []
    for x in np.asarray(X[0, :6], np.float64):
        for d, m in np.ndindex(D, M):
            solution = solve_ivp(
                lambda _, h, d=d, m=m, x=x: a[d, m] * h + x[d], (0, np.exp(given['log_step'][d])), h[d, m : m + 1],
                rtol=1e-10, atol=1e-12,
            )  # fmt: skip
            h[d, m] = solution.y[0, -1]
        expected.append(2 * (c * h).sum(axis=1).real + given['skip'] * x)
    read = mixer.apply(params, X[:1, :6], mutable=['read'])[1]['read']['read'].value
    assert_near(read[0], np.array(expected))


@pytest.mark.long
def test_the_start_is_s4d_lin():
    params = S4D(states=3).init(jax.random.key(0), jnp.zeros((1, 2, 1000)))['params']
    np.testing.assert_allclose(-jnp.exp(params['log_rate']), -0.5, rtol=1e-6)
    np.testing.assert_allclose(params['frequency'], np.pi * np.tile([0, 1, 2], (1000, 1)), rtol=1e-6)
    steps = np.exp(params['log_step'])
    assert 0.001 <= steps.min() < 0.0012
    assert 0.08 < steps.max() <= 0.1
    np.testing.assert_allclose(np.median(steps), 0.01, rtol=0.2)
