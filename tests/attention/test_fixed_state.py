# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Retention and the delta rule against loops over tokens, and what their settings make them equal to."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.ops.delta import correct
from saccade.ops.flops import flops
from saccade.ops.linear_attention import Memory
from saccade.ops.term import Softcap
from saccade.types import LayerContext, Source, UserError

F32_RELATIVE = 1e-5  # of the largest element
LINEAR_EXPONENT = 1.1
B, T, D, N = 2, 7, 8, 2
RETENTION = {'use': 'attention.retention:Retention', 'heads': N, 'value_width': 6, 'chunk': 3}
DELTA = {'use': 'attention.delta:Delta', 'heads': N, 'value_width': 6, 'chunk': 3}
SILU = {'use': 'jax.nn:silu'}
CONVOLUTION = {'use': 'recurrent.mixer.convolution:Convolution', 'size': 3, 'depthwise': True}
CONVOLVED = DELTA | {'convolution': CONVOLUTION}
BARE = {'head_norm': None, 'gate': None, 'position': {'use': 'position.none:NoPosition'}}
X = jnp.array(np.random.default_rng(0).normal(size=(B, T, D)), jnp.float32)
CONTEXT = LayerContext(jnp.tile(jnp.arange(T), (B, 1)))


def assert_near(given, expected, relative=F32_RELATIVE):
    given, expected = np.asarray(given), np.asarray(expected)
    assert np.isfinite(given).all()
    np.testing.assert_allclose(given, expected, rtol=0, atol=relative * np.abs(expected).max())


def params_of(spec, seed=1):
    module, random = build(spec)(), np.random.default_rng(seed)
    shapes = jax.eval_shape(lambda: module.init(jax.random.key(0), X, CONTEXT, False))
    return jax.tree.map(lambda leaf: jnp.array(random.normal(size=leaf.shape, scale=0.5), leaf.dtype), shapes)


def run(spec, params, context=CONTEXT, x=X):
    module = build(spec)()
    return jax.jit(lambda params: module.apply(params, x, context, False))(params)


def silu(x):
    return x / (1 + np.exp(-x))


def unit(x):
    return x / np.linalg.norm(x)


def rotated(x, t):
    """Feature c is turned against c + H/2 by t 10000^(-2c/H)."""
    half = len(x) // 2
    angle = t * 10000.0 ** (-np.arange(half) / half)
    first, second = x[:half], x[half:]
    return np.concatenate(
        [first * np.cos(angle) - second * np.sin(angle), second * np.cos(angle) + first * np.sin(angle)]
    )


def finish(heads, x, p):
    """Gate and merge [B T N V], which are normalised already."""
    if 'gate_down' in p:
        p = {**p, 'gate': np.einsum('dr,rnv->dnv', p['gate_down'], p['gate_up'])}
    gated = heads * silu(np.einsum('btd,dnv->btnv', x, p['gate'])) if 'gate' in p else heads
    return np.einsum('btnv,nvd->btd', gated, p['output'])


def in_double(params):
    return jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), params['params']), np.asarray(X, np.float64)


@pytest.mark.parametrize('rates', [None, [0.5, 0.99]])
def test_retention_is_its_equations(rates):
    spec = RETENTION | {'rates': rates}
    params = params_of(spec)
    p, x = in_double(params)
    heads = np.zeros((B, T, N, 6))
    for b, n in np.ndindex(B, N):
        gamma, memory = (rates or [1 - 2**-5, 1 - 2**-6])[n], np.zeros((D // N, 6))
        for t in range(T):
            q, k, v = (x[b, t] @ p[name][:, n] for name in ('query', 'key', 'value'))
            memory = gamma * memory + np.outer(rotated(k, t) / np.sqrt(D // N), v)
            read = rotated(q, t) @ memory
            heads[b, t, n] = (read - read.mean()) / np.sqrt(read.var() + 1e-5)
    assert_near(run(spec, params), finish(heads, x, p), 1e-4)


def projected(p, x):
    """q, k, v [B T N H] of each of the N heads; convolved by naive loops where the parameters say so."""
    heads = [np.einsum('btd,dnh->btnh', x, p[name]) for name in ('query', 'key', 'value')]
    if 'convolution' in p:
        taps = p['convolution']['output']
        flat, own = np.concatenate([y.reshape(B, T, -1) for y in heads], axis=-1), [y.shape[2:] for y in heads]
        y = np.zeros_like(flat) + p['convolution'].get('bias', 0.0)
        for t, back in np.ndindex(T, len(taps)):
            y[:, t] += flat[:, t - back] * taps[-1 - back] if t >= back else 0.0
        ends = np.cumsum([a * b for a, b in own])[:-1]
        heads = [part.reshape(B, T, *shape) for part, shape in zip(np.split(y, ends, axis=-1), own, strict=True)]
    return [np.repeat(y, N // y.shape[2], axis=2) for y in heads]


@pytest.mark.long
@pytest.mark.parametrize(
    'settings',
    [
        {},
        {'gate': SILU},
        {'decay': False},
        {'negative_eigenvalues': True},
        {'key_heads': 1, 'convolution': CONVOLUTION},
        {'gate': SILU, 'gate_rank': 3, 'convolution': {**CONVOLUTION, 'bias': False}},
    ],
)
def test_the_delta_rule_is_its_equations(settings):
    spec = DELTA | settings
    params = params_of(spec)
    p, x = in_double(params)
    queries, keys, values = (silu(y) for y in projected(p, x))
    most = 2 if settings.get('negative_eigenvalues') else 1
    heads = np.zeros((B, T, N, 6))
    for b, n in np.ndindex(B, N):
        memory = np.zeros((6, D // N))
        for t in range(T):
            q, k, v = unit(queries[b, t, n]), unit(keys[b, t, n]), values[b, t, n]
            share, log_decay = most / (1 + np.exp(-x[b, t] @ p['write'][:, n])), 1.0
            if 'log_rate' in p:
                log_decay = np.exp(
                    -np.exp(p['log_rate'][n]) * np.log1p(np.exp(x[b, t] @ p['step'][:, n] + p['step_bias'][n]))
                )
            memory = log_decay * memory @ (np.eye(D // N) - share * np.outer(k, k)) + share * np.outer(v, k)
            read = memory @ q
            heads[b, t, n] = p['head_norm']['scale'] * read / np.sqrt((read * read).mean() + 1e-6)
    assert ('log_rate' in p) == settings.get('decay', True)
    assert_near(run(spec, params), finish(heads, x, p), 1e-4)


def test_retention_with_gamma_one_and_no_norm_is_linear_attention_without_a_normaliser():
    spec = RETENTION | BARE | {'rates': [1.0, 1.0]}
    params = params_of(spec)
    p, x = in_double(params)
    q, k, v = (np.einsum('btd,dnh->btnh', x, p[name]) for name in ('query', 'key', 'value'))
    weights = np.einsum('btnh,bsnh->bnts', q, k) / np.sqrt(D // N) * np.tri(T)
    assert_near(run(spec, params), finish(np.einsum('bnts,bsnh->btnh', weights, v), x, p))


@pytest.mark.long
def test_a_memory_that_never_fades_is_delta_net():
    params = params_of(DELTA)
    still = {**params['params'], 'log_rate': jnp.full(N, -100.0)}
    plain = {name: leaf for name, leaf in still.items() if name not in ('log_rate', 'step', 'step_bias')}
    assert_near(run(DELTA, {'params': still}), run(DELTA | {'decay': False}, {'params': plain}))


@pytest.mark.long
def test_taps_for_the_token_itself_alone_are_no_convolution():
    params = params_of(CONVOLVED)['params']
    taps = params['convolution']['output']
    still = {'output': jnp.zeros_like(taps).at[-1].set(1.0), 'bias': jnp.zeros_like(taps[0])}
    plain = {name: leaf for name, leaf in params.items() if name != 'convolution'}
    assert_near(run(CONVOLVED, {'params': {**params, 'convolution': still}}), run(DELTA, {'params': plain}))


def test_a_convolved_mixer_decodes_with_the_tokens_before():
    state = build(CONVOLVED)().init_state(X, 10**9)
    assert state.memory.sums.shape == (B, N, D // N, 6)
    assert state.convolution.x.shape == (B, 2, 2 * D + N * 6)


@pytest.mark.long
def test_with_negative_eigenvalues_a_memory_counts_modulo_two():
    length, one = 9, jnp.ones((1, 9, 1))
    k = one[..., None]
    v, write = jnp.zeros_like(k).at[:, 0].set(1.0), (2.0 * one).at[:, 0].set(1.0)
    y, _ = correct(k, k, v, write, 0.0 * one, jnp.ones((1, length), int), Memory.empty(1, 1, 1, 1), 4)
    np.testing.assert_array_equal(y.ravel(), (-1.0) ** np.arange(length))


def test_what_is_never_written_is_never_read():
    params = params_of(DELTA)
    closed = {**params['params'], 'write': -1e4 * jnp.ones((D, N))}
    x = jnp.abs(X)
    np.testing.assert_array_equal(run(DELTA, {'params': closed}, x=x), 0.0)


@pytest.mark.long
@pytest.mark.parametrize('spec', [RETENTION, CONVOLVED], ids=['Retention', 'Delta'])
def test_the_chunk_changes_nothing(spec):
    params = params_of(spec)
    assert_near(run(spec | {'chunk': 64}, params), run(spec | {'chunk': 1}, params))


@pytest.mark.parametrize('spec', [RETENTION, DELTA], ids=['Retention', 'Delta'])
def test_the_state_is_of_one_size_whatever_its_capacity(spec):
    module = build(spec)()
    sizes = [jax.tree.map(jnp.shape, module.init_state(X, capacity)) for capacity in (1, 10**9)]
    assert sizes[0] == sizes[1]
    assert sizes[0].sums == (B, N, D // N, 6)


@pytest.mark.long
def test_the_paths_of_the_gates_begin_in_their_published_ranges():
    heads = 2000
    spec = {'use': 'attention.delta:Delta', 'heads': heads, 'head_width': 1}
    params = build(spec)().init(jax.random.key(0), X[:, :1], LayerContext(CONTEXT.positions[:, :1]), False)['params']
    rates, steps = np.exp(params['log_rate']), np.log1p(np.exp(params['step_bias']))
    assert (rates.min(), rates.max()) == pytest.approx((1, 16), rel=0.05)
    assert (steps.min(), steps.max()) == pytest.approx((1e-3, 0.1), rel=0.05)
    assert np.median(steps) == pytest.approx(1e-2, rel=0.15)


TERMS = LayerContext(CONTEXT.positions, terms=(Softcap(1.0),))
CROSS = LayerContext(CONTEXT.positions, source=Source(X, CONTEXT.positions))
BIASED = {'position': {'use': 'position.relative_bias:RelativeBias'}}
REFUSED = {
    'a source': (DELTA, CROSS, r'attention.delta:Delta .* not support cross-attention'),
    'a term': (RETENTION, TERMS, 'attention.retention:Retention has no scores for ops.term:Softcap'),
    'a bias by position': (RETENTION | BIASED, CONTEXT, 'has no scores for ops.term:DistanceTable'),
    'rates for other heads': (RETENTION | {'rates': [0.5]}, CONTEXT, 'rates must be 2, above 0 and at most 1'),
    'a rate that grows': (RETENTION | {'rates': [0.5, 1.5]}, CONTEXT, 'rates must be 2, above 0 and at most 1'),
    'heads that do not fit': (DELTA | {'heads': 3}, CONTEXT, 'width 8 is not divisible by 3 heads'),
    'key heads that do not fit': (DELTA | {'key_heads': 3}, CONTEXT, 'heads 2 is not divisible by key_heads 3'),
    'chunks of none': (DELTA | {'chunk': 0}, CONTEXT, 'chunk must be at least 1'),
    'values of no width': (DELTA | {'value_width': 0}, CONTEXT, 'value_width must be at least 1'),
}


@pytest.mark.parametrize('name', REFUSED)
def test_what_a_mixer_cannot_serve_is_refused_by_name(name):
    spec, context, words = REFUSED[name]
    with pytest.raises(UserError, match=words):
        build(spec)().init(jax.random.key(0), X, context, False)


def gradient_of(spec, length):
    module = build(spec | {'chunk': 64})()
    x, context = jax.ShapeDtypeStruct((1, length, D), jnp.float32), LayerContext(jnp.zeros((1, length), int))
    params = jax.eval_shape(lambda: module.init(jax.random.key(0), X, CONTEXT, False))
    return jax.grad(lambda params, x: module.apply(params, x, context, False).sum(), argnums=(0, 1)), (params, x)


def exponent(measure, lengths):
    return np.polyfit(np.log(lengths), np.log([measure(length) for length in lengths]), 1)[0]


@pytest.mark.long
@pytest.mark.parametrize('spec', [RETENTION, DELTA], ids=['Retention', 'Delta'])
def test_work_and_memory_grow_linearly(spec):
    def work(length):
        function, arguments = gradient_of(spec, length)
        return flops(function, *arguments)

    def temporary_bytes(length):
        function, arguments = gradient_of(spec, length)
        return jax.jit(function).lower(*arguments).compile().memory_analysis().temp_size_in_bytes

    assert exponent(work, [512, 1024, 2048]) == pytest.approx(1.0, abs=1e-6)
    assert exponent(temporary_bytes, [1024, 4096]) < LINEAR_EXPONENT
