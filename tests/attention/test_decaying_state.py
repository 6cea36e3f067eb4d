# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Mixers whose memory decays, against a loop over tokens, and what their settings make them equal to."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.ops.linear_attention import LogScaledState, exponential_gates
from saccade.types import LayerContext

F32_RELATIVE = 1e-4  # of the largest element
UNDERFLOW = 1e-36  # products of float32 below this lose digits
B, T, D, N, H, V = 2, 7, 8, 2, 4, 6
SIZES = {'heads': N, 'value_width': V, 'chunk': 3}
GATED_LINEAR = {'use': 'attention.gated_linear:GatedLinear', 'decay_rank': 3, 'temperature': 2.0, **SIZES}
HGRN2 = {'use': 'attention.hgrn2:HGRN2', **SIZES}
RETENTION = {'use': 'attention.retention:Retention', **SIZES, 'position': {'use': 'position.none:NoPosition'}}
SHORT = {'use': 'recurrent.mixer.convolution:Convolution', 'size': 3, 'depthwise': True}
MAMBA2 = {'use': 'attention.mamba2:Mamba2', **SIZES, 'convolution': SHORT}
KIMI = {'use': 'attention.kimi_delta:KimiDelta', **SIZES, 'decay_rank': 3, 'gate_rank': 5}
BOUNDED = KIMI | {'decay_bound': 5.0, 'decay_rank': None, 'gate_rank': None}
GATED_DELTA2 = {'use': 'attention.gated_delta2:GatedDelta2', **SIZES}
PRODUCT = {'use': 'attention.delta_product:DeltaProduct', **SIZES, 'updates': 3}
DELTA = {'use': 'attention.delta:Delta', **SIZES}
MLSTM = {'use': 'attention.mlstm:MLSTM', **SIZES}
RMS = {'use': 'norm.rms:RMSNorm'}
X = jnp.array(np.random.default_rng(0).normal(size=(B, T, D)), jnp.float32)
CONTEXT = LayerContext(jnp.tile(jnp.arange(T), (B, 1)))


def assert_near(given, expected):
    given, expected = np.asarray(given), np.asarray(expected)
    assert np.isfinite(given).all()
    np.testing.assert_allclose(given, expected, rtol=0, atol=F32_RELATIVE * np.abs(expected).max())


def params_of(spec, seed=1):
    module, random = build(spec)(), np.random.default_rng(seed)
    shapes = jax.eval_shape(lambda: module.init(jax.random.key(0), X, CONTEXT, False))
    return jax.tree.map(lambda leaf: jnp.array(random.normal(size=leaf.shape, scale=0.5), leaf.dtype), shapes)['params']


def run(spec, params):
    module = build(spec)()
    return jax.jit(lambda params: module.apply({'params': params}, X, CONTEXT, False))(params)


def in_double(params):
    """The parameters, and each head's q, k and v without activations."""
    p = jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), params)
    x = np.asarray(X, np.float64)
    return p, x, *(np.einsum('btd,dnh->btnh', x, p[name]) for name in ('query', 'key', 'value'))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def silu(x):
    return x * sigmoid(x)


def rms(x, scale):
    return scale * x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-6)


def normed(x, p, name):
    return rms(x, p[name]['scale']) if name in p else x


def unit(x):
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def softplus(x):
    return np.log1p(np.exp(x))


def read(q, k, v, kept):
    """What each token reads of a memory that keeps `kept` [B T N #H] of itself and adds k v^T, token by token."""
    y = np.zeros(v.shape)
    for b, n in np.ndindex(B, N):
        memory = np.zeros((q.shape[-1], v.shape[-1]))
        for t in range(T):
            memory = kept[b, t, n][:, None] * memory + np.outer(k[b, t, n], v[b, t, n])
            y[b, t, n] = q[b, t, n] @ memory
    return y


def corrected(q, k, v, share, kept):
    """The same, where each update [B T M N _] of a token takes away first what its key finds."""
    y = np.zeros((B, T, N, V))
    for b, n in np.ndindex(B, N):
        memory = np.zeros((H, V))
        for t in range(T):
            memory = kept[b, t, n][:, None] * memory
            for key, value, b_of_it in zip(k[b, t, :, n], v[b, t, :, n], share[b, t, :, n], strict=True):
                memory = memory + b_of_it * np.outer(key, value - key @ memory)
            y[b, t, n] = q[b, t, n] @ memory
    return y


def convolved(p, heads):
    """Naive loops over tokens and taps of q, k and v side by side."""
    flat = np.concatenate([y.reshape(B, T, -1) for y in heads], axis=-1)
    taps, y = p['output'], np.zeros_like(flat) + p['bias']
    for t, back in np.ndindex(T, len(taps)):
        y[:, t] += flat[:, t - back] * taps[-1 - back] if t >= back else 0.0
    parts = np.split(y, np.cumsum([was[0, 0].size for was in heads])[:-1], axis=-1)
    return [part.reshape(was.shape) for part, was in zip(parts, heads, strict=True)]


def without_the_norm_too(name):
    """Test with the norm of the heads, and without, since a norm hides every factor before it."""
    return pytest.mark.parametrize('norm', [{}, {name: None}], ids=['norm', 'bare'])


@without_the_norm_too('head_norm')
def test_gated_linear_attention_is_its_equations(norm):
    params = params_of(GATED_LINEAR | norm)
    p, x, q, k, v = in_double(params)
    logits = np.einsum('btr,rnh->btnh', x @ p['decay_down'], p['decay_up']) + p['decay_bias']
    heads = normed(read(q, k / np.sqrt(H), v, sigmoid(logits) ** 0.5), p, 'head_norm')
    heads *= silu(np.einsum('btd,dnv->btnv', x, p['gate']))
    assert_near(run(GATED_LINEAR | norm, params), np.einsum('btnv,nvd->btd', heads, p['output']))


@pytest.mark.long
def test_gated_linear_attention_with_rates_that_no_token_sets_is_retention():
    rates = np.array([0.6, 0.9])
    params = params_of(GATED_LINEAR)
    bias = jnp.broadcast_to(-jnp.log(1 / rates**2 - 1)[:, None], (N, H))  # sigmoid(bias)^(1/2) = rate
    given = run(GATED_LINEAR, {**params, 'decay_up': jnp.zeros((3, N, H)), 'decay_bias': bias.astype(jnp.float32)})
    plain = {name: leaf for name, leaf in params.items() if not name.startswith('decay')}
    assert_near(given, run(RETENTION | {'rates': rates.tolist(), 'head_norm': RMS}, plain))


@without_the_norm_too('output_norm')
@pytest.mark.parametrize('lower_bound', [0.0, 0.3])
def test_hgrn2_is_its_equations(lower_bound, norm):
    spec = HGRN2 | {'lower_bound': lower_bound} | norm
    params = params_of(spec)
    p, _, q, k, v = in_double(params)
    forget = lower_bound + (1 - lower_bound) * sigmoid(k)
    heads = read(silu(q), 1 - forget, v, forget)
    y = normed(heads.reshape(B, T, N * V), p, 'output_norm')
    assert_near(run(spec, params), y @ p['output'].reshape(N * V, D))


def test_hgrn2_that_forgets_all_reads_the_token_itself():
    params = params_of(HGRN2 | {'output_norm': None})
    x = jnp.abs(X)
    module, closed = build(HGRN2 | {'output_norm': None})(), {**params, 'key': jnp.full((D, N, H), -1e4)}
    given = jax.jit(lambda params: module.apply({'params': params}, x, CONTEXT, False))(closed)
    q, v = (np.einsum('btd,dnh->btnh', x, params[name]) for name in ('query', 'value'))
    assert_near(given, np.einsum('btn,btnv,nvd->btd', silu(q).sum(axis=-1), v, params['output']))


@without_the_norm_too('output_norm')
def test_mamba2_is_its_equations(norm):
    params = params_of(MAMBA2 | norm)
    p, x, *heads = in_double(params)
    q, k, v = (silu(y) for y in convolved(p['convolution'], heads))
    q, k = (np.repeat(y, N, axis=2) for y in (q, k))  # one group
    step = softplus(x @ p['step'] + p['step_bias'])[..., None]
    y = read(q, k, step * v, np.exp(-np.exp(p['log_rate'][:, None]) * step)) + p['skip'][:, None] * v
    y *= silu(np.einsum('btd,dnv->btnv', x, p['gate']))
    y = normed(y.reshape(B, T, N * V), p, 'output_norm')
    assert_near(run(MAMBA2 | norm, params), y @ p['output'].reshape(N * V, D))


@pytest.mark.long
def test_mamba2_with_steps_of_one_and_nothing_around_is_retention():
    rates = np.array([0.6, 0.9])
    bare = {'gate': None, 'output_norm': None, 'convolution': None, 'key_heads': None}
    params = params_of(MAMBA2 | bare | {'activation': {'use': 'jax.nn:identity'}})
    one, rate = np.full(N, np.log(np.e - 1), np.float32), np.log(-np.log(rates)).astype(np.float32)
    still = {'step': jnp.zeros((D, N)), 'step_bias': one, 'log_rate': rate, 'skip': jnp.zeros(N)}
    given = run(MAMBA2 | bare | {'activation': {'use': 'jax.nn:identity'}}, {**params, **still})
    shared = {name: params[name] for name in ('query', 'value', 'output')} | {'key': params['key'] * H**0.5}
    assert_near(given, run(RETENTION | {'rates': rates.tolist(), 'head_norm': None, 'gate': None}, shared))


@without_the_norm_too('head_norm')
def test_kimi_delta_attention_is_its_equations(norm):
    params = params_of(KIMI | norm)
    p, x, q, k, v = in_double(params)
    q, k, v = unit(silu(q)), unit(silu(k)), silu(v)
    steps = np.einsum('btr,rnh->btnh', x @ p['step_down'], p['step_up']) + p['step_bias']
    kept = np.exp(-np.exp(p['log_rate'])[:, None] * softplus(steps))
    y = corrected(q, k[:, :, None], v[:, :, None], sigmoid(x @ p['write'])[:, :, None], kept)
    y = normed(y, p, 'head_norm') * sigmoid(np.einsum('btr,rnv->btnv', x @ p['gate_down'], p['gate_up']))
    assert_near(run(KIMI | norm, params), np.einsum('btnv,nvd->btd', y, p['output']))


@pytest.mark.long
@without_the_norm_too('head_norm')
def test_kimi_delta_attention_with_a_bounded_decay_and_full_matrices_is_its_equations(norm):
    params = params_of(BOUNDED | norm)
    p, x, q, k, v = in_double(params)
    steps = np.einsum('btd,dnh->btnh', x, p['step']) + p['step_bias']
    kept = np.exp(-5 * sigmoid(np.exp(p['log_rate'])[:, None] * steps))
    share = sigmoid(x @ p['write'])[:, :, None]
    y = corrected(unit(silu(q)), unit(silu(k))[:, :, None], silu(v)[:, :, None], share, kept)
    y = normed(y, p, 'head_norm') * sigmoid(np.einsum('btd,dnv->btnv', x, p['gate']))
    assert_near(run(BOUNDED | norm, params), np.einsum('btnv,nvd->btd', y, p['output']))


@pytest.mark.long
def test_a_decay_far_from_its_bound_is_a_decay_without_one():
    params = params_of(BOUNDED)
    slow = {**params, 'step': 0.1 * params['step'], 'step_bias': jnp.full((N, H), -12.0)}
    bounded = run(BOUNDED, {**slow, 'log_rate': jnp.zeros(N)})
    assert_near(bounded, run(BOUNDED | {'decay_bound': None}, {**slow, 'log_rate': jnp.full(N, np.log(5.0))}))


@pytest.mark.long
@without_the_norm_too('head_norm')
@pytest.mark.parametrize('largest', [1, 2])
def test_gated_delta_net_2_is_its_equations(largest, norm):
    spec = GATED_DELTA2 | norm | {'negative_eigenvalues': largest == 2}
    params = params_of(spec)
    p, x, q, k, v = in_double(params)
    q, k, v = unit(silu(q)), unit(silu(k)), silu(v)
    erase, write, gate, steps = (np.einsum('btd,dnh->btnh', x, p[name]) for name in ('erase', 'write', 'gate', 'step'))
    kept = np.exp(-np.exp(p['log_rate'])[:, None] * softplus(steps + p['step_bias']))
    find, value, y = largest * sigmoid(erase) * k, sigmoid(write) * v, np.zeros(v.shape)
    for b, n in np.ndindex(B, N):
        memory = np.zeros((H, V))
        for t in range(T):
            memory = kept[b, t, n][:, None] * memory
            memory = memory + np.outer(k[b, t, n], value[b, t, n] - find[b, t, n] @ memory)
            y[b, t, n] = q[b, t, n] @ memory
    y = normed(y, p, 'head_norm') * sigmoid(gate)
    assert_near(run(spec, params), np.einsum('btnv,nvd->btd', y, p['output']))


@pytest.mark.long
def test_gated_delta_net_2_with_one_number_for_both_gates_is_kimi_delta_attention():
    spec = KIMI | {'decay_rank': None, 'gate_rank': None}
    params = params_of(spec)
    shares = {
        name: jnp.repeat(params['write'][..., None], width, axis=-1) for name, width in (('erase', H), ('write', V))
    }
    assert_near(run(GATED_DELTA2, {**params, **shares}), run(spec, params))


@pytest.mark.long
def test_kimi_delta_attention_whose_features_decay_alike_is_gated_delta_net():
    params = params_of(DELTA)
    alike = {
        **params,
        'step': jnp.repeat(params['step'][..., None], H, axis=-1),
        'step_bias': jnp.repeat(params['step_bias'][:, None], H, axis=-1),
    }
    assert_near(run(KIMI | {'decay_rank': None, 'gate': None}, alike), run(DELTA, params))


@without_the_norm_too('head_norm')
def test_delta_product_is_its_equations(norm):
    params = params_of(PRODUCT | norm)
    p, x, q, k, v = in_double(params)
    k, v, share = (y.reshape(B, T, 3, N, *y.shape[3:]) for y in (unit(silu(k)), silu(v), 2 * sigmoid(x @ p['write'])))
    kept = np.exp(-np.exp(p['log_rate']) * softplus(x @ p['step'] + p['step_bias']))[..., None]
    y = normed(corrected(unit(silu(q)), k, v, share, kept), p, 'head_norm')
    assert_near(run(PRODUCT | norm, params), np.einsum('btnv,nvd->btd', y, p['output']))


@pytest.mark.long
def test_delta_product_of_one_update_is_the_delta_rule():
    params = params_of(DELTA)
    assert_near(run(PRODUCT | {'updates': 1}, params), run(DELTA | {'negative_eigenvalues': True}, params))


@pytest.mark.parametrize('gate_cap', [None, 2.0])
def test_mlstm_is_its_equations(gate_cap):
    spec = MLSTM | {'gate_cap': gate_cap, 'head_norm': None}
    params = params_of(spec)
    params['input_gate'] = 4.0 * params['input_gate']  # gates from 0.001 to 1000
    p, x, q, k, v = in_double(params)
    gates, forget = (x @ p[name] + p[f'{name}_bias'] for name in ('input_gate', 'forget_gate'))
    if gate_cap:
        gates, forget = (gate_cap * np.tanh(y / gate_cap) for y in (gates, forget))
    written = np.exp(gates)[..., None] * k
    numbers = read(q / np.sqrt(H), written, np.concatenate([v, np.ones((B, T, N, 1))], -1), sigmoid(forget)[..., None])
    y = numbers[..., :-1] / np.maximum(np.abs(numbers[..., -1:]), 1.0)
    y *= sigmoid(np.einsum('btd,dnv->btnv', x, p['gate']))
    assert_near(run(spec, params), np.einsum('btnv,nvd->btd', y, p['output']))


@pytest.mark.long
def test_mlstm_with_open_gates_and_no_normaliser_at_work_is_retention_that_keeps_all():
    spec = MLSTM | {'gate': None, 'head_norm': None}
    params = params_of(spec)
    gates = {name: jnp.zeros((D, N)) for name in ('input_gate', 'forget_gate')}
    small = {'key': 0.01 * params['key'], 'input_gate_bias': jnp.zeros(N), 'forget_gate_bias': jnp.full(N, 100.0)}
    shared = {name: {**params, **small}[name] for name in ('query', 'key', 'value', 'output')}
    expected = run(RETENTION | {'rates': [1.0] * N, 'head_norm': None, 'gate': None}, shared)
    assert_near(run(spec, {**params, **gates, **small}), expected)


@pytest.mark.long
@pytest.mark.parametrize('size', [1e4, -1e4])
def test_mlstm_is_finite_at_gates_of_any_size(size):
    params = params_of(MLSTM)
    biases = {'input_gate_bias': jnp.full(N, size), 'forget_gate_bias': jnp.full(N, -size)}
    module = build(MLSTM)()

    def loss(params):
        return jnp.square(module.apply({'params': params}, X, CONTEXT, False)).sum()

    value, gradients = jax.jit(jax.value_and_grad(loss))({**params, **biases})
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves((value, gradients)))


@pytest.mark.long
@pytest.mark.parametrize(
    ('input_gate', 'forget_gate'),
    [
        ((-50, 60), (0, 0)),
        ((-50, 60), (-50, 60)),
        ((-150, 200), (60, -50)),
        ((200, -150), (4, 4)),
        ((200, -150), (4, -50)),
    ],
)
@pytest.mark.parametrize('chunk', [1, 5])
def test_mlstm_is_its_loop_where_gates_rise_and_fall_within_a_row(input_gate, forget_gate, chunk):
    """Beside a loop in double precision, which needs no stabiliser; each token is compared at its own size."""
    length, random = 23, np.random.default_rng(2)
    q, k, v = (random.normal(size=(B, length, N, size)).astype(np.float32) for size in (H, H, V))
    gain, forget = (
        np.linspace(*ends, length, dtype=np.float32)[:, None] + random.normal(size=(B, length, N)).astype(np.float32)
        for ends in (input_gate, forget_gate)
    )
    expected = np.zeros((B, length, N, V))
    for b, n in np.ndindex(B, N):
        memory, keys = np.zeros((H, V)), np.zeros(H)
        for t in range(length):
            kept, key = sigmoid(np.float64(forget[b, t, n])), np.exp(np.float64(gain[b, t, n])) * k[b, t, n]
            memory, keys = kept * memory + np.outer(key, v[b, t, n]), kept * keys + key
            expected[b, t, n] = q[b, t, n] @ memory / max(abs(q[b, t, n] @ keys), 1.0)

    def heads(q, k, v, gain, forget):
        state, segments = LogScaledState.empty(B, N, H, V + 1), jnp.ones((B, length), jnp.int32)
        return exponential_gates(q, k, v, gain, jax.nn.log_sigmoid(forget), segments, state, chunk)[0]

    inputs = tuple(map(jnp.asarray, (q, k, v, gain, forget)))
    given, size = jax.jit(heads)(*inputs), np.abs(expected).max(axis=-1, keepdims=True)
    assert (np.abs(given - expected) <= F32_RELATIVE * size + UNDERFLOW).all()
    gradients = jax.jit(jax.grad(lambda *inputs: jnp.square(heads(*inputs)).sum(), range(5)))(*inputs)
    assert all(np.isfinite(gradient).all() for gradient in gradients)


@pytest.mark.long
@pytest.mark.parametrize('spec', [GATED_LINEAR, HGRN2, MAMBA2, KIMI, BOUNDED, GATED_DELTA2, PRODUCT, MLSTM], ids=str)
def test_the_chunk_changes_nothing(spec):
    params = params_of(spec)
    assert_near(run(spec | {'chunk': 64}, params), run(spec | {'chunk': 1}, params))
