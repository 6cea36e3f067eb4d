# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Log-linear attention: the authors' outputs, a loop over pairs, linear attention at weights of one, its blocks."""

import functools
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.attention.log_linear_mamba2 import LogLinearMamba2
from saccade.attention.mamba2 import Mamba2
from saccade.ops.linear_attention import Memory, retain
from saccade.ops.log_linear import LevelState, blocks_of, retain_by_level
from saccade.types import UserError

RECORDED = Path(__file__).parents[1] / 'oracle' / 'recorded' / 'log_linear.npz'
F32_RELATIVE, F64_RELATIVE = 1e-5, 1e-10  # of the largest element
B, T, N, R, H, J = 2, 23, 2, 3, 4, 4
# Documents of several lengths, among them 16 = 2^J, with padding between them and none.
SEGMENTS = np.array([[1] * 16 + [2] * 7, [0] + [1] * 2 + [2] * 5 + [0] * 2 + [3] + [4] * 11 + [0]])


def assert_near(given, expected, relative):
    given, expected = np.asarray(given), np.asarray(expected)
    assert np.isfinite(given).all()
    np.testing.assert_allclose(given, expected, rtol=0, atol=relative * np.abs(expected).max())


@pytest.mark.oracle_of('attention.log_linear_mamba2:LogLinearMamba2', by='HanGuo97/log-linear-attention')
@pytest.mark.long
def test_outputs_and_gradients_are_those_that_the_authors_code_gave():
    with np.load(RECORDED) as file, jax.enable_x64(True):
        given = {name: jnp.array(file[name]) for name in ('q', 'k', 'v', 'decay', 'weights')}
        (rows, length, heads, R), H = given['q'].shape, given['v'].shape[-1]
        state = LevelState.empty(rows, heads, R, H, given['weights'].shape[-1] - 1)

        def run(given):
            q, k, v, decay, weights = (given[name] for name in ('q', 'k', 'v', 'decay', 'weights'))
            return retain_by_level(q, k, v, jnp.log(decay), weights, jnp.ones((rows, length), int), state, 8)[0]

        y, gradients = jax.jit(lambda given: (run(given), jax.vjp(run, given)[1](jnp.array(file['dy']))[0]))(given)
        assert_near(y, file['y'], F64_RELATIVE)
        for name, gradient in gradients.items():
            assert_near(gradient, file[f'd_{name}'], F64_RELATIVE)


def drawn(by_feature=False):
    random = np.random.default_rng(1)
    q, k = random.normal(size=(2, B, T, N, R))
    log_decay = -random.exponential(size=(B, T, N, R) if by_feature else (B, T, N))
    return q, k, random.normal(size=(B, T, N, H)), log_decay, random.normal(size=(B, T, N, J + 1))


@functools.cache
def looped(by_feature):
    """Every pair of tokens of a document, with its decay and the weight of its level; padding is 0."""
    q, k, v, log_decay, weights = drawn(by_feature)
    log_decay = log_decay if by_feature else log_decay[..., None]
    y = np.zeros(v.shape)
    for b in range(B):
        for t in range(T):
            start = np.argmax(SEGMENTS[b] == SEGMENTS[b, t])
            for s in range(start, t + 1) if SEGMENTS[b, t] else ():
                level = int((t - start) ^ (s - start)).bit_length()
                decay = np.exp(log_decay[b, s + 1 : t + 1].sum(axis=0))
                y[b, t] += weights[b, t, :, level, None] * (q[b, t] * decay * k[b, s]).sum(-1, keepdims=True) * v[b, s]
    return y


def read(given, chunk, counts=(T,)):
    """In several calls of so many tokens."""
    state, y = LevelState.empty(B, N, R, H, J), []
    for end, count in zip(np.cumsum(counts), counts, strict=True):
        here = slice(end - count, end)
        tokens = (jnp.array(x[:, here]) for x in given)
        part, state = retain_by_level(*tokens, jnp.array(SEGMENTS[:, here]), state, chunk)
        y.append(part)
    return jnp.concatenate(y, axis=1)


@pytest.mark.long
@pytest.mark.parametrize('by_feature', [False, True], ids=['of a head', 'of features'])
@pytest.mark.parametrize(
    ('chunk', 'counts'), [(64, (T,)), (5, (T,)), (1, (T,)), (4, (3, 1, 11, 1, 7))], ids=['matrix', '5', '1', 'in parts']
)
def test_chunks_are_the_loop_over_pairs(chunk, counts, by_feature):
    with jax.enable_x64(True):
        y = read(drawn(by_feature), chunk, counts)
        assert y.dtype == jnp.float64
        real = SEGMENTS != 0
        assert_near(np.asarray(y)[real], looped(by_feature)[real], F64_RELATIVE)


@pytest.mark.long
def test_with_weights_of_one_it_is_linear_attention():
    *given, weights = (jnp.array(x, jnp.float32) for x in drawn())
    segments = jnp.array(SEGMENTS)
    expected, _ = retain(*given, segments, Memory.empty(B, N, R, H), 4)
    y, _ = retain_by_level(*given, jnp.ones_like(weights), segments, LevelState.empty(B, N, R, H, J), 4)
    assert_near(y[SEGMENTS != 0], expected[SEGMENTS != 0], F32_RELATIVE)


@pytest.mark.long
def test_the_blocks_of_the_state_are_the_set_bits_of_the_count():
    """After 13 = 8 + 4 + 1 tokens, blocks of 1, 4 and 8; the oldest tokens are in the largest."""
    k, zeros = jnp.eye(13)[None, :, None], jnp.zeros((1, 13, 1))
    state = LevelState.empty(1, 1, 13, 1, J)
    weights, ones = jnp.ones((1, 13, 1, J + 1)), jnp.ones((1, 13, 1, 1))
    _, state = retain_by_level(k, k, ones, zeros, weights, jnp.ones((1, 13), int), state, 4)
    held = [np.flatnonzero(block).tolist() for block in state.sums[0, :, 0, :, 0]]
    assert held == [[12], [], [8, 9, 10, 11], [0, 1, 2, 3, 4, 5, 6, 7]]


@pytest.mark.long
def test_log_linear_mamba_2_with_weights_of_one_is_mamba_2():
    """A constant feature of x, and weights of it alone that softplus makes 1."""
    x = jnp.array(np.random.default_rng(2).normal(size=(2, 7, 8)), jnp.float32).at[..., 0].set(1.0)
    mixer = LogLinearMamba2(heads=2, length=9, chunk=3)
    params = mixer.init(jax.random.key(0), x)['params']
    level = jnp.zeros_like(params['level']).at[0].set(np.log(np.e - 1))
    y = mixer.apply({'params': params | {'level': level}}, x)
    plain = {name: leaf for name, leaf in params.items() if not name.startswith('level')}
    assert_near(y, Mamba2(heads=2).apply({'params': plain}, x), F32_RELATIVE)
    assert np.abs(mixer.apply({'params': params}, x) - y).max() > 0.01


def test_the_number_of_blocks_is_the_logarithm_of_the_length():
    assert [blocks_of(length) for length in (1, 2, 3, 4, 5, 16, 17)] == [1, 1, 2, 2, 3, 4, 5]
    state = LogLinearMamba2(heads=2, length=1000).init_state(jnp.zeros((3, 1, 8)), 1000)
    assert state.sums.shape == (3, 10, 2, 4, 4)


def test_more_tokens_than_the_length_are_refused():
    mixer, x = LogLinearMamba2(heads=2, length=4), jnp.zeros((1, 5, 8))
    for call in (lambda: mixer.init(jax.random.key(0), x), lambda: mixer.init_state(x, 5)):
        with pytest.raises(UserError, match='LogLinearMamba2: 5 tokens exceed the length of 4'):
            call()
