# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""RWKV-7 and the generalised delta rule, against loops over tokens in float64 and gradients through a loop."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.layer_paths import HANDED
from saccade.ops.convolution import token_before
from saccade.ops.delta import correct, replace, unit
from saccade.ops.linear_attention import Memory, retain
from saccade.types import LayerContext, UserError

F32_RELATIVE, F64_RELATIVE = 1e-5, 1e-12  # of the largest element
B, T, D, N, H, V = 2, 11, 8, 2, 4, 6
SEGMENTS = np.array([[1] * 4 + [2] * 7, [0] * 2 + [1] * 3 + [0] * 2 + [1] * 2 + [3] * 2])
SPEC = {
    'use': 'attention.rwkv7:RWKV7',
    'heads': N,
    'value_width': V,
    'decay_rank': 3,
    'rate_rank': 2,
    'gate_rank': 5,
    'value_rank': 3,
    'chunk': 4,
}
NORM = {'head_norm': None, 'merged_norm': {'use': 'norm.group:GroupNorm', 'groups': N, 'epsilon': 64e-5}}
X = jnp.array(np.random.default_rng(0).normal(size=(B, T, D)), jnp.float32)
PLACES = jnp.tile(jnp.arange(T), (B, 1))
FIRST = jnp.array(np.random.default_rng(2).normal(size=(B, T, N, V)), jnp.float32)


def assert_near(given, expected, relative=F32_RELATIVE):
    given, expected = np.asarray(given), np.asarray(expected)
    assert np.isfinite(given).all()
    np.testing.assert_allclose(given, expected, rtol=0, atol=relative * np.abs(expected).max())


def drawn(decay):
    """q, k, v, find, erase of unit keys, and log decays: some 0, some so low that nothing is left."""
    random = np.random.default_rng(3)
    q, k, find = (random.normal(size=(B, T, N, H)) for _ in range(3))
    find /= np.linalg.norm(find, axis=-1, keepdims=True)
    log_decay = -random.exponential(size=(B, T, N, H)[: 3 + decay])
    log_decay[random.random(log_decay.shape) < 0.2] = 0.0
    log_decay[random.random(log_decay.shape) < 0.2] = -1e4
    return q, k, random.normal(size=(B, T, N, V)), find, find * random.random(find.shape), log_decay


def looped(q, k, v, find, erase, log_decay, segments, xp=np):
    """The generalised delta rule, token by token."""
    decay, rows = xp.exp(log_decay if log_decay.ndim == 4 else log_decay[..., None]), []
    for b in range(B):
        memory, newest, y = xp.zeros((N, H, V)), 0, []
        for t in range(T):
            if segments[b, t] not in (0, newest):
                memory, newest = xp.zeros((N, H, V)), segments[b, t]
            if segments[b, t]:
                found = xp.einsum('nh,nhv->nv', find[b, t], memory)
                memory = decay[b, t][..., None] * memory + xp.einsum('nh,nv->nhv', k[b, t], v[b, t])
                memory = memory - xp.einsum('nh,nv->nhv', erase[b, t], found)
            y.append(xp.einsum('nh,nhv->nv', q[b, t], memory))
        rows.append(xp.stack(y))
    return xp.stack(rows)


@pytest.mark.long
@pytest.mark.parametrize('by_feature', [True, False])
@pytest.mark.parametrize('chunk', [1, 4, 64])
def test_the_generalised_delta_rule_in_chunks_is_the_loop(chunk, by_feature):
    given = drawn(by_feature)
    with jax.enable_x64(True):
        y, _ = replace(*map(jnp.array, given), jnp.array(SEGMENTS), Memory.empty(B, N, H, V), chunk)
        assert y.dtype == jnp.float64
        real = SEGMENTS != 0
        assert_near(np.asarray(y)[real], looped(*given, SEGMENTS)[real], F64_RELATIVE)


@pytest.mark.long
def test_its_gradients_are_those_of_the_loop():
    given = drawn(True)
    with jax.enable_x64(True):
        given = tuple(map(jnp.array, given))
        weights = jnp.array(np.random.default_rng(4).normal(size=(B, T, N, V))) * (SEGMENTS != 0)[..., None, None]

        def chunked(given):
            y, _ = replace(*given, jnp.array(SEGMENTS), Memory.empty(B, N, H, V), 4)
            return (weights * y).sum()

        found = jax.jit(jax.grad(chunked))(given)
        expected = jax.jit(jax.grad(lambda given: (weights * looped(*given, SEGMENTS, jnp)).sum()))(given)
        for one, other in zip(found, expected, strict=True):
            assert_near(one, other, F64_RELATIVE)


@pytest.mark.long
def test_with_keys_of_its_own_for_nothing_it_is_the_gated_delta_rule():
    q, k, v, _, _, log_decay = drawn(True)
    with jax.enable_x64(True):
        q, v, log_decay, k = (jnp.array(y) for y in (q, v, log_decay, k / np.linalg.norm(k, axis=-1, keepdims=True)))
        share = jnp.array(np.random.default_rng(5).random((B, T, N)))
        rest = (log_decay, jnp.array(SEGMENTS), Memory.empty(B, N, H, V), 4)
        expected, after = correct(q, k, v, share, *rest)
        share = share[..., None]
        y, memory = replace(q, k, share * v, jnp.exp(log_decay) * k, share * k, *rest)
        assert_near(y, expected, F64_RELATIVE)
        assert_near(memory.sums, after.sums, F64_RELATIVE)


@pytest.mark.long
def test_the_token_before_is_one_of_the_same_document_whatever_padding_is_between():
    before, newest = token_before(X, jnp.array(SEGMENTS), jnp.ones((B, D)), jnp.array([1, 2]))
    expected = np.zeros((B, T, D))
    expected[0, 0], expected[0, 1:4], expected[0, 5:] = 1.0, X[0, :3], X[0, 4:-1]
    expected[1, 3:5], expected[1, 7], expected[1, 8], expected[1, 10] = X[1, 2:4], X[1, 4], X[1, 7], X[1, 9]
    real = SEGMENTS != 0
    np.testing.assert_array_equal(np.asarray(before)[real], expected[real])
    np.testing.assert_array_equal(newest, X[:, -1])


def context(segments=None, first=None):
    handed = {} if first is None else {'values': (jnp.array(True), first)}
    return LayerContext(PLACES, None if segments is None else jnp.array(segments), handed=handed)


def params_of(spec):
    module, random = build(spec)(), np.random.default_rng(1)
    shapes = jax.eval_shape(lambda: module.init(jax.random.key(0), X, context(), False))['params']
    return jax.tree.map(lambda leaf: jnp.array(random.normal(size=leaf.shape, scale=0.5), leaf.dtype), shapes)


def run(spec, params, context):
    return jax.jit(lambda params, context: build(spec)().apply({'params': params}, X, context, False))(params, context)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def time_mixing(p, segments, first):
    """The paper's equations in its own order: rows of the state are values, and columns are keys."""
    p = jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), p)
    x, y = np.asarray(X, np.float64), np.zeros((B, T, D))

    def low_rank(name, z, activation=lambda z: z):
        return np.einsum('r,rnh->nh', activation(z @ p[f'{name}_down']), p[f'{name}_up'])

    for b in range(B):
        states, previous, newest = np.zeros((N, V, H)), np.zeros(D), 0
        for t in range(T):
            if segments[b, t] == 0:
                continue
            if segments[b, t] != newest:
                states, previous, newest = np.zeros((N, V, H)), np.zeros(D), segments[b, t]
            names = ('query', 'key', 'value', 'decay', 'rate', 'gate')
            z = {name: x[b, t] + (1 - p[f'{name}_share']) * (previous - x[b, t]) for name in names}
            r, k, v = (np.einsum('d,dnh->nh', z[name], p[name]) for name in names[:3])
            if 'mixed_value_up' in p:
                v = v + (first[b, t] - v) * sigmoid(p['mixed_value_bias'] + low_rank('mixed_value', z['value']))
            w = np.exp(-np.exp(-0.5) * sigmoid(p['decay_bias'] + low_rank('decay', z['decay'], np.tanh)))
            a = sigmoid(p['rate_bias'] + low_rank('rate', z['rate']))
            g = low_rank('gate', z['gate'], sigmoid)
            kappa = k * p['find']
            kappa /= np.linalg.norm(kappa, axis=-1, keepdims=True)
            k = k * (1 + (a - 1) * p['write'])
            for n in range(N):
                transition = np.diag(w[n]) - np.outer(kappa[n], a[n] * kappa[n])
                states[n] = states[n] @ transition + np.outer(v[n], k[n])
            heads = np.einsum('nvh,nh->nv', states, r)
            heads = (heads - heads.mean(-1, keepdims=True)) / np.sqrt(heads.var(-1, keepdims=True) + 64e-5)
            norm = p['merged_norm']
            heads = heads * norm['scale'].reshape(N, V) + norm['bias'].reshape(N, V)
            heads = heads + (r * p['bonus'] * k).sum(-1, keepdims=True) * v
            y[b, t], previous = np.einsum('nv,nvd->d', g * heads, p['output']), x[b, t]
    return y


@pytest.mark.long
@pytest.mark.parametrize('value_rank', [None, 3])
def test_it_is_its_equations(value_rank):
    spec = SPEC | NORM | {'value_rank': value_rank}
    params, segments = params_of(spec), np.sort(SEGMENTS, axis=1)  # a row's padding comes first, and no more is between
    expected = time_mixing(params, segments, np.asarray(FIRST, np.float64))
    real = segments != 0
    assert_near(np.asarray(run(spec, params, context(segments, FIRST)))[real], expected[real])


@pytest.mark.long
def test_where_nothing_is_erased_and_all_decays_are_set_it_is_a_decaying_linear_attention():
    spec = SPEC | {'head_norm': None, 'value_rank': None}
    params = params_of(spec)
    whole = {f'{name}_share': jnp.ones(D) for name in ('query', 'key', 'value', 'decay', 'rate', 'gate')}
    still = {'decay_up': jnp.zeros((3, N, H))} | {name: jnp.zeros((N, H)) for name in ('bonus', 'find', 'write')}
    y = run(spec, {**params, **whole, **still}, context())
    q, k, v = (jnp.einsum('btd,dnh->btnh', X, params[name]) for name in ('query', 'key', 'value'))
    log_decay = jnp.broadcast_to(-np.exp(-0.5) * sigmoid(params['decay_bias']), k.shape)
    heads, _ = retain(q, k, v, log_decay, jnp.ones((B, T), int), Memory.empty(B, N, H, V), 4)
    gate = jnp.einsum('btr,rnv->btnv', sigmoid(X @ params['gate_down']), params['gate_up'])
    assert_near(y, jnp.einsum('btnv,nvd->btd', gate * heads, params['output']))


@pytest.mark.long
def test_the_first_layers_values_are_handed_on_whatever_a_layer_mixes_in():
    for value_rank in (None, 3):
        spec = SPEC | {'value_rank': value_rank}
        module, params = build(spec)(), params_of(spec)
        _, report = module.apply({'params': params}, X, context(first=FIRST), False, mutable=[HANDED])
        np.testing.assert_array_equal(report[HANDED]['values'], FIRST)


@pytest.mark.long
def test_the_chunk_changes_nothing():
    params = params_of(SPEC)
    given = (run(SPEC | {'chunk': chunk}, params, context(SEGMENTS)) for chunk in (64, 1))
    assert_near(*given)


@pytest.mark.long
def test_steps_with_padding_between_are_the_whole():
    module, params = build(SPEC)(), params_of(SPEC)
    whole = np.asarray(run(SPEC, params, context(SEGMENTS)))
    state, ends = module.init_state(X, T), (0, 6, T)
    for start, end in itertools.pairwise(ends):
        part = LayerContext(PLACES[:, start:end], jnp.array(SEGMENTS[:, start:end]))
        y, state = module.apply({'params': params}, X[:, start:end], part, state, method='step')
        real = SEGMENTS[:, start:end] != 0
        np.testing.assert_allclose(np.asarray(y)[real], whole[:, start:end][real], rtol=0, atol=1e-5)


@pytest.mark.long
def test_keys_of_zero_have_finite_gradients():
    params = params_of(SPEC) | {'key': jnp.zeros((D, N, H))}
    module = build(SPEC)()

    def loss(params):
        return jnp.square(module.apply({'params': params}, X, context(), False)).sum()

    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(jax.jit(jax.grad(loss))(params)))
    np.testing.assert_allclose(np.linalg.norm(unit(X[:, :, None], 1e-12), axis=-1), 1.0, rtol=1e-6)


def test_it_is_refused_in_both_directions():
    module = build({'use': 'attention.both_directions:BothDirections', 'mixer': SPEC})()
    with pytest.raises(UserError, match=r'rwkv7:RWKV7 passes values on'):
        jax.eval_shape(lambda: module.init(jax.random.key(0), X, context(), False))
