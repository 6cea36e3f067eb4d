# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Retention and the delta rule under gates of any strength, against a loop over tokens in float64."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.ops import delta, linear_attention
from saccade.ops.linear_attention import Memory

F32_RELATIVE = 1e-5  # of the largest element, whatever its size
B, T, N, R, H = 2, 257, 2, 5, 3
CHUNKS = (1, 16, 64, 257)
RANDOM = np.random.default_rng(0)
ROWS = {
    'whole': np.ones((B, T), int),
    # Documents of 40 tokens in the mean, with padding in random places.
    'packed': (np.cumsum(RANDOM.uniform(size=(B, T)) < 1 / 40, axis=1) + 1) * (RANDOM.uniform(size=(B, T)) > 0.1),
}
STRENGTHS, SHARES = [0.0, -0.1, -3.0, -30.0, -1e3, -1e4], [0.3, 0.3, 0.2, 0.1, 0.05, 0.05]
LOG_DECAYS = {
    'none': np.zeros((B, T, N)),
    'mild': np.full((B, T, N), -0.1),
    'strong': RANDOM.uniform(-33.0, -27.0, size=(B, T, N)),
    'resets': np.where(RANDOM.uniform(size=(B, T, N)) < 0.05, -1e4, 0.0),
    'mild and resets': np.where(RANDOM.uniform(size=(B, T, N)) < 0.05, -1e4, -RANDOM.exponential(size=(B, T, N))),
    'mixed': RANDOM.choice(STRENGTHS, size=(B, T, N), p=SHARES),
    'mild, by feature': -0.2 * RANDOM.exponential(size=(B, T, N, R)),
    'strong, by feature': RANDOM.uniform(-33.0, -27.0, size=(B, T, N, R)),
    'mixed, by feature': RANDOM.choice(STRENGTHS, size=(B, T, N, R), p=SHARES),
}


def drawn(log_decay):
    shapes = {'q': (B, T, N, R), 'k': (B, T, N, R), 'v': (B, T, N, H)}
    x = {name: RANDOM.normal(size=shape) for name, shape in shapes.items()}
    x['k'] /= np.linalg.norm(x['k'], axis=-1, keepdims=True)
    x |= {'write': RANDOM.uniform(size=(B, T, N)), 'log_decay': LOG_DECAYS[log_decay]}
    return {name: array.astype(np.float32) for name, array in x.items()}


INPUTS = {name: drawn(name) for name in LOG_DECAYS}
DIRECTION = RANDOM.normal(size=(B, T, N, H)).astype(np.float32)
MEMORY_DIRECTION = RANDOM.normal(size=(B, N, R, H)).astype(np.float32)


def retain(x, segments, chunk):
    arrays = (x['q'], x['k'], x['v'], x['log_decay'])
    return linear_attention.retain(*arrays, segments, Memory.empty(B, N, R, H), chunk)


def correct(x, segments, chunk):
    arrays = (x['q'], x['k'], x['v'], x['write'], x['log_decay'])
    return delta.correct(*arrays, segments, Memory.empty(B, N, R, H), chunk)


FORMS = {'retain': retain, 'correct': correct}


@functools.cache
def program(form, chunk):
    """Outputs, the last memory, and the gradients of both in a direction."""

    def loss(x, segments):
        y, state = FORMS[form](x, segments, chunk)
        y = jnp.where((segments != 0)[..., None, None], y, 0.0)
        return (DIRECTION * y).sum() + (MEMORY_DIRECTION * state.sums).sum(), (y, state.sums)

    return jax.jit(jax.grad(loss, has_aux=True))


@functools.cache
def loop(form, log_decay, row):
    """The same in float64, one token after another and back. Retention is the delta rule that takes nothing away."""
    x = {name: array.astype(np.float64) for name, array in INPUTS[log_decay].items()}
    taken, share = {'retain': (0.0, np.ones((B, T, N))), 'correct': (1.0, x['write'])}[form]
    y, last, gradients = np.zeros((B, T, N, H)), np.zeros((B, N, R, H)), jax.tree.map(np.zeros_like, x)
    for b, segments in enumerate(ROWS[row]):
        real = np.flatnonzero(segments)
        memory, before, current = last[b], {}, 0
        for t in real:
            kept = np.exp(x['log_decay'][b, t]).reshape(N, -1, 1) * (segments[t] == current)
            before[t] = memory, kept
            faded, k, current = kept * memory, x['k'][b, t], segments[t]
            error = x['v'][b, t] - taken * np.einsum('nr,nrh->nh', k, faded)
            memory = faded + np.einsum('n,nr,nh->nrh', share[b, t], k, error)
            y[b, t] = np.einsum('nr,nrh->nh', x['q'][b, t], memory)
            before[t] += faded, error, memory
        last[b], dmemory = memory, MEMORY_DIRECTION[b].astype(np.float64)
        for t in real[::-1]:
            k, (memory, kept, faded, error, after) = x['k'][b, t], before[t]
            gradients['q'][b, t] = np.einsum('nrh,nh->nr', after, DIRECTION[b, t])
            dmemory = dmemory + np.einsum('nr,nh->nrh', x['q'][b, t], DIRECTION[b, t])
            gradients['write'][b, t] = np.einsum('nrh,nr,nh->n', dmemory, k, error)
            derror = share[b, t][:, None] * np.einsum('nrh,nr->nh', dmemory, k)
            gradients['v'][b, t] = derror
            dk = share[b, t][:, None] * np.einsum('nrh,nh->nr', dmemory, error)
            gradients['k'][b, t] = dk - taken * np.einsum('nrh,nh->nr', faded, derror)
            dfaded = dmemory - taken * np.einsum('nr,nh->nrh', k, derror)
            by_feature = (kept * dfaded * memory).sum(axis=-1)
            own = gradients['log_decay'][b, t]
            own += by_feature if own.ndim == 2 else by_feature.sum(axis=-1)
            dmemory = kept * dfaded
    return gradients, (y, last)


def assert_near(given, expected):
    given, size = np.asarray(given, np.float64), np.abs(expected).max()
    np.testing.assert_allclose(given, expected, rtol=0, atol=F32_RELATIVE * size)


@pytest.mark.long
@pytest.mark.parametrize('chunk', CHUNKS)
@pytest.mark.parametrize('row', ROWS)
@pytest.mark.parametrize('log_decay', LOG_DECAYS)
@pytest.mark.parametrize('form', FORMS)
def test_outputs_and_gradients_are_those_of_the_recurrence(form, log_decay, row, chunk):
    gradients, results = program(form, chunk)(INPUTS[log_decay], jnp.asarray(ROWS[row]))
    expected_gradients, expected = loop(form, log_decay, row)
    jax.tree.map(assert_near, results, expected)
    for name in gradients:
        if form == 'correct' or name != 'write':
            assert_near(gradients[name], expected_gradients[name])
