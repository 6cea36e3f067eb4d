# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Memories of fixed size against loops over tokens, and against themselves taken in other chunks."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from counted import count_primitive

from saccade.ops import delta, linear_attention
from saccade.ops.flops import flops
from saccade.ops.linear_attention import LOWEST, LogScaledState, Memory
from saccade.ops.mask import SameSegment

F32_RELATIVE = 1e-5  # of the largest element
LINEAR_EXPONENT = 1.1
B, N, K, R, H = 2, 4, 2, 5, 3
GROUP = N // K
CHUNKS = (1, 4, 64)
# Padding at the left, between and within documents, at the right; a segment may keep its number across a break.
SEGMENTS = np.array([[0, 0, 1, 1, 1, 0, 1, 2, 2, 2, 0], [3, 3, 3, 3, 1, 1, 1, 1, 1, 1, 1]])


def assert_near(given, expected, relative=F32_RELATIVE):
    given, expected = np.asarray(given), np.asarray(expected)
    assert np.isfinite(given).all()
    np.testing.assert_allclose(given, expected, rtol=0, atol=relative * max(1e-3, np.abs(expected).max()))


def drawn(T, seed=0, spread=1.0):
    """Positive features with gains of any size; signed ones; values; shares of log_decay and writing."""
    random = np.random.default_rng(seed)
    shape = {'q': (B, T, N, R), 'k': (B, T, K, R), 'v': (B, T, K, H)}
    signed = {name: random.normal(size=size) for name, size in shape.items()}
    positive = {name: random.uniform(0.1, 1.0, size=shape[name]) for name in 'qk'}
    gain, log_decay = random.normal(scale=spread, size=(B, T, K)), -random.exponential(size=(B, T, K))
    drawn = {
        'q': positive['q'],
        'k': positive['k'],
        'gain': gain,
        'log_decay': log_decay,
        'write': random.uniform(size=gain.shape),
    }
    drawn |= {'v': signed['v'], 'signed_q': signed['q'], 'signed_k': signed['k']}
    return {name: jnp.array(x, jnp.float32) for name, x in drawn.items()}


def rows_of(T, seed):
    """Documents of random lengths after one another, with padding in random places."""
    random = np.random.default_rng(seed)
    numbers = np.cumsum(random.uniform(size=(B, T)) < 0.15, axis=1) + 1
    return np.where(random.uniform(size=(B, T)) < 0.2, 0, numbers)


def attend(x, segments, chunk, state=None):
    state = LogScaledState.empty(B, K, R, H + 1) if state is None else state
    return linear_attention.attend(x['q'], x['k'], x['gain'], x['v'], jnp.asarray(segments), state, chunk)


def retain(x, segments, chunk, state=None):
    state = Memory.empty(B, K, R, H) if state is None else state
    arrays = (x['signed_q'], x['signed_k'], x['v'], x['log_decay'])
    return linear_attention.retain(*arrays, jnp.asarray(segments), state, chunk)


def correct(x, segments, chunk, state=None):
    state = Memory.empty(B, K, R, H) if state is None else state
    q, k = delta.unit(x['signed_q'][:, :, ::GROUP]), delta.unit(x['signed_k'])
    return delta.correct(q, k, x['v'], x['write'], x['log_decay'], jnp.asarray(segments), state, chunk)


FORMS = {form.__name__: jax.jit(form, static_argnums=2) for form in (attend, retain, correct)}


def loop(x, segments, name):
    """What each token reads, one token after another, in float64."""
    x = {key: np.asarray(array, np.float64) for key, array in x.items()}
    heads = K if name == 'correct' else N
    y = np.zeros((*segments.shape, heads, H))
    for b, n in np.ndindex(B, heads):
        head = n if name == 'correct' else n // GROUP
        memory, total, current = np.zeros((R, H)), np.zeros(R), 0
        for t, segment in enumerate(segments[b]):
            if segment == 0:
                continue
            if segment != current:
                memory, total, current = np.zeros((R, H)), np.zeros(R), segment
            v = x['v'][b, t, head]
            if name == 'attend':
                k = np.exp(x['gain'][b, t, head]) * x['k'][b, t, head]
                memory, total, q = memory + np.outer(k, v), total + k, x['q'][b, t, n]
                y[b, t, n] = q @ memory / (q @ total)
            elif name == 'retain':
                memory = np.exp(x['log_decay'][b, t, head]) * memory + np.outer(x['signed_k'][b, t, head], v)
                y[b, t, n] = x['signed_q'][b, t, n] @ memory
            else:
                k, q = x['signed_k'][b, t, n], x['signed_q'][b, t, n * GROUP]
                k, q, share = k / np.linalg.norm(k), q / np.linalg.norm(q), x['write'][b, t, n]
                faded = np.exp(x['log_decay'][b, t, n]) * memory
                memory = faded - share * np.outer(k, k @ faded) + share * np.outer(k, v)
                y[b, t, n] = q @ memory
    return y


def real_only(y, segments):
    return jnp.where((segments != 0)[..., None, None], y, 0.0)


@pytest.mark.parametrize('chunk', CHUNKS)
@pytest.mark.parametrize('name', FORMS)
def test_the_whole_is_a_loop_over_tokens(name, chunk):
    x = drawn(SEGMENTS.shape[1])
    y, _ = FORMS[name](x, SEGMENTS, chunk)
    assert_near(real_only(y, SEGMENTS), loop(x, SEGMENTS, name))


@pytest.mark.long
@pytest.mark.parametrize('name', FORMS)
def test_any_chunk_gives_the_outputs_and_gradients_of_the_recurrence(name):
    for seed, T in enumerate((1, 7, 13, 29)):
        x, segments = drawn(T, seed), rows_of(T, seed)
        direction = jnp.array(np.random.default_rng(seed).normal(size=(B, T, 1, H)), jnp.float32)

        def loss(x, chunk, segments=segments, direction=direction):
            y, state = FORMS[name](x, segments, chunk)
            return (direction * real_only(y, segments)).sum() + jnp.sin(state.sums).sum(), y

        def both(x, loss=loss):
            return [jax.grad(loss, has_aux=True)(x, chunk) for chunk in (1, 5)]

        (expected, y), (gradients, other) = jax.jit(both)(x)
        assert_near(real_only(other, segments), real_only(y, segments))
        jax.tree.map(assert_near, gradients, expected)


@pytest.mark.long
@pytest.mark.parametrize('name', FORMS)
def test_a_row_taken_in_pieces_is_the_row_taken_whole(name):
    T = 23
    x, segments = drawn(T, 5), rows_of(T, 5)
    expected, last = FORMS[name](x, segments, 4)
    state, parts = None, []
    for here in (slice(0, 6), slice(6, 7), slice(7, 20), slice(20, 23)):
        part, state = FORMS[name]({key: array[:, here] for key, array in x.items()}, segments[:, here], 4, state)
        parts.append(part)
    assert_near(real_only(jnp.concatenate(parts, axis=1), segments), real_only(expected, segments))
    jax.tree.map(assert_near, state, last)


@pytest.mark.parametrize('name', FORMS)
def test_padding_and_other_documents_are_not_read(name):
    x = drawn(SEGMENTS.shape[1])
    before, _ = FORMS[name](x, SEGMENTS, 4)
    hidden = (SEGMENTS != 2) & (SEGMENTS != 1)
    changed = {key: jnp.where(hidden.reshape(B, -1, *[1] * (a.ndim - 2)), -50.0, a) for key, a in x.items()}
    after, _ = FORMS[name](changed, SEGMENTS, 4)
    np.testing.assert_array_equal(np.asarray(before)[~hidden], np.asarray(after)[~hidden])


@pytest.mark.parametrize('spread', [1.0, 60.0, 1000.0])
def test_gains_of_any_size_give_the_weights_of_a_softmax(spread):
    """exp(gain) alone would overflow; the document with the small gains must not be lost beside that with the large."""
    T = 12
    x = drawn(T, 3, spread)
    segments = np.array([[1, 0, 0, 1, 1, *[2] * 7], [1] * 12])
    x['gain'] = x['gain'].at[0, :5].add(-100 * spread)
    y, _ = FORMS['attend'](x, segments, 4)
    products = np.einsum('btkgr,bskr->bkgts', np.asarray(x['q'], np.float64).reshape(B, T, K, GROUP, R), x['k'])
    scores = np.log(products) + np.moveaxis(np.asarray(x['gain'], np.float64), 1, 2)[:, :, None, None]
    allowed = (segments[:, :, None] == segments[:, None]) & np.tri(T, dtype=bool)
    scores = np.where(allowed[:, None, None], scores, -np.inf)
    weights = np.where(allowed[:, None, None], np.exp(scores - scores.max(axis=-1, keepdims=True)), 0.0)
    weights /= weights.sum(axis=-1, keepdims=True)
    expected = np.einsum('bkgts,bskh->btkgh', weights, x['v']).reshape(B, T, N, H)
    assert_near(real_only(y, segments), real_only(expected, segments), 1e-4)


@pytest.mark.long
@pytest.mark.parametrize('packed', [True, False])
def test_all_keys_of_a_segment_are_read_whatever_their_order(packed):
    T, S = 7, 11
    x = drawn(S, 4)
    q = drawn(T, 8)['q']
    q_segments, k_segments = (
        np.array([[1, 2, 0, 2, 1, 3, 1], [1] * 7]),
        np.array([[2, 1, 1, 0, 2, 1, 1, 2, 0, 1, 1], [1] * 11]),
    )
    segments = SameSegment(jnp.asarray(q_segments), jnp.asarray(k_segments)) if packed else None
    y = jax.jit(linear_attention.attend_all, static_argnums=5)(q, x['k'], x['gain'], x['v'], segments, 4)
    for b, t, n in np.ndindex(B, T, N):
        read = (k_segments[b] == q_segments[b, t]) & (k_segments[b] != 0) if packed else np.ones(S, bool)
        weights = np.exp(x['gain'][b, :, n // GROUP]) * (x['k'][b, :, n // GROUP] @ q[b, t, n]) * read
        expected = weights @ x['v'][b, :, n // GROUP] / weights.sum() if read.any() else np.zeros(H)
        np.testing.assert_allclose(y[b, t, n], expected, atol=1e-5)


def test_one_token_reads_its_own_value():
    x = drawn(1)
    y, _ = FORMS['attend'](x, np.ones((B, 1), int), 64)
    assert_near(y, jnp.repeat(x['v'], GROUP, axis=2))


def test_features_without_weight_read_nothing():
    x = drawn(4)
    y, _ = FORMS['attend']({**x, 'q': 0 * x['q']}, np.ones((B, 4), int), 64)
    np.testing.assert_array_equal(y, 0.0)


def test_elu_plus_one_is_positive_where_its_sum_would_round_to_zero():
    x = jnp.array([-60.0, -1.0, 0.0, 2.0])
    np.testing.assert_allclose(linear_attention.elu_plus_one(x), [np.exp(-60), np.exp(-1), 1, 3], rtol=1e-6)
    assert jax.vmap(jax.grad(linear_attention.elu_plus_one))(x).min() > 0


@pytest.mark.long
def test_a_memory_that_is_not_written_stays():
    x, ones = drawn(6), np.ones((B, 6), int)
    _, state = FORMS['correct'](x, ones, 4)
    _, after = FORMS['correct']({**x, 'write': 0 * x['write'], 'log_decay': 0 * x['log_decay']}, ones, 4, state)
    np.testing.assert_array_equal(after.sums, state.sums)


@pytest.mark.long
def test_a_value_written_whole_is_read_back_and_replaced():
    """With b = 1 and a = 1 the memory returns, for each key, the value that was last written under it."""
    k = jnp.tile(jnp.eye(R)[jnp.array([0, 1, 0, 2])][None, :, None], (B, 1, K, 1))
    v = drawn(4)['v']
    ones, segments = jnp.ones((B, 4, K)), jnp.ones((B, 4), int)
    _, state = delta.correct(k, k, v, ones, 0 * ones, segments, Memory.empty(B, K, R, H), 64)
    for place, last in {0: 2, 1: 1, 2: 3}.items():
        assert_near(state.sums[:, :, place], v[:, last])


@pytest.mark.parametrize('length', [1, 2, 5, 8, 21])
def test_a_unit_lower_triangular_system_is_solved(length):
    """With its gradients, whatever stands on the diagonal and above it."""
    random = np.random.default_rng(length)
    below, y, direction = (random.normal(size=(2, 3, length, width)) for width in (length, 4, 4))
    lower = np.eye(length) + np.tril(below, -1)
    expected, dy = np.linalg.solve(lower, y), np.linalg.solve(np.swapaxes(lower, -1, -2), direction)
    dbelow = np.tril(-np.einsum('...th,...sh->...ts', dy, expected), -1)

    def loss(below, y):
        u = delta.solve_unit_lower(below, y)
        return (jnp.asarray(direction, jnp.float32) * u).sum(), u

    inputs = (jnp.asarray(x, jnp.float32) for x in (below, y))
    gradients, u = jax.jit(jax.grad(loss, argnums=(0, 1), has_aux=True))(*inputs)
    for given, exact in zip((u, *gradients), (expected, dbelow, dy), strict=True):
        assert_near(given, exact)


def test_the_delta_rule_calls_no_triangular_solve():
    """Two at once hang on a CPU of two cores."""
    x, segments = drawn(9), np.ones((B, 9), int)
    gradient = jax.grad(lambda x: correct(x, segments, 4)[0].sum())
    assert count_primitive(gradient, 'triangular_solve', x) == 0
    assert count_primitive(gradient, 'dot_general', x) > 0


@pytest.mark.long
def test_gamma_one_is_linear_attention_without_a_normaliser():
    x, ones = drawn(9), np.ones((B, 9), int)
    y, _ = FORMS['retain']({**x, 'log_decay': 0 * x['log_decay'], 'signed_q': x['q'], 'signed_k': x['k']}, ones, 4)
    normalised, _ = FORMS['attend']({**x, 'gain': 0 * x['gain']}, ones, 4)
    totals = np.einsum('btkgr,btkr->btkg', x['q'].reshape(B, 9, K, GROUP, R), np.cumsum(x['k'], axis=1))
    assert_near(y, normalised * totals.reshape(B, 9, N, 1))


@pytest.mark.long
def test_levels_that_were_never_reached_are_finite():
    x = drawn(5)
    _, state = FORMS['attend'](x, np.zeros((B, 5), int), 2)
    np.testing.assert_array_equal(state.level, np.float32(LOWEST))
    np.testing.assert_array_equal(state.sums, 0.0)


def exponent(measure, lengths):
    """The slope of log measure over log T."""
    return np.polyfit(np.log(lengths), np.log([measure(T) for T in lengths]), 1)[0]


def like(T):
    shapes = jax.eval_shape(lambda: drawn(T))
    return shapes, jax.ShapeDtypeStruct((B, T), jnp.int32)


def gradient(name):
    return jax.grad(lambda x, segments: FORMS[name](x, segments, 64)[0].sum())


@pytest.mark.long
@pytest.mark.parametrize('name', FORMS)
def test_work_grows_linearly(name):
    assert exponent(lambda T: flops(gradient(name), *like(T)), [256, 512, 1024]) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.long
@pytest.mark.parametrize('name', FORMS)
def test_memory_of_forward_and_backward_grows_linearly(name):
    def temporary_bytes(T):
        return jax.jit(gradient(name)).lower(*like(T)).compile().memory_analysis().temp_size_in_bytes

    assert exponent(temporary_bytes, [1024, 2048, 4096]) < LINEAR_EXPONENT
