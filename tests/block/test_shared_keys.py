# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Layers that share keys and values: against a loop, what they are in special cases, and what they save."""

import functools
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.types import LayerContext, UserError

F32_RELATIVE = 1e-5  # of the largest element
B, T, D = 2, 7, 8
N, K, H = 4, 2, 4
X = jnp.array(np.random.default_rng(0).normal(size=(B, T, D)), jnp.float32)
PACKED = LayerContext(
    jnp.array([[0, 0, 1, 2, 0, 1, 2], [0, 1, 2, 3, 4, 5, 6]]),
    jnp.array([[0, 1, 1, 1, 2, 2, 2], [1, 1, 1, 1, 1, 1, 1]]),
)
REAL = PACKED.segments != 0

PLAIN = {'use': 'attention.plain:Plain'}
MIXER = {
    'use': 'attention.multi_head:MultiHead',
    'heads': N,
    'key_value_heads': K,
    'head_width': H,
    'kernel': PLAIN,
    'mask': {'use': 'ops.mask:Causal'},
    'position': {'use': 'position.rotary:Rotary', 'base': 10.0},
}
PARTS = {
    'mixer': MIXER,
    'feedforward': {'use': 'feedforward.mlp:MLP', 'activation': {'use': 'jax.numpy:tanh'}, 'bias': False},
    'norm': {'use': 'norm.rms:RMSNorm'},
}
UNROLLED = {'use': 'model.stack:Unrolled'}
PRE_NORM = {'use': 'block.pre_norm:PreNorm', **PARTS}


def shared(sharing, **mixer):
    return {'use': 'block.shared_keys:SharedKeys', 'sharing': sharing, **PARTS, 'mixer': {**MIXER, **mixer}}


def shapes(spec):
    return jax.eval_shape(lambda: build(spec)().init(jax.random.key(0), X, PACKED, False))


def drawn(spec):
    random = np.random.default_rng(1)
    return jax.tree.map(lambda leaf: jnp.array(random.normal(size=leaf.shape, scale=0.5), leaf.dtype), shapes(spec))


def run(spec, params):
    return jax.jit(lambda params: build(spec)().apply(params, X, PACKED, False))(params)


def in_steps(spec, params, lengths=(3, 1, 3)):
    module, parts = build(spec)(), []
    step = jax.jit(functools.partial(module.apply, method='step'))
    state = module.apply(params, X[:, :1], T, method='init_state')
    for here in np.split(np.arange(T), np.cumsum(lengths)[:-1]):
        part, state = step(params, X[:, here], LayerContext(PACKED.positions[:, here], PACKED.segments[:, here]), state)
        parts.append(part)
    return jnp.concatenate(parts, axis=1)


def size(tree):
    return sum(leaf.size for leaf in jax.tree.leaves(tree))


def assert_near(given, expected):
    given, expected = np.asarray(given), np.asarray(expected)
    np.testing.assert_allclose(given, expected, rtol=0, atol=F32_RELATIVE * np.abs(expected).max())


def rms(x, scale):
    return x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + 1e-6) * scale


def turned(x):
    """Pairs of features as complex numbers, turned by the position."""
    angles = np.asarray(PACKED.positions)[..., None, None] * 10.0 ** (-2 * np.arange(H // 2) / H)
    z = (x[..., : H // 2] + 1j * x[..., H // 2 :]) * np.exp(1j * angles)
    return np.concatenate([z.real, z.imag], axis=-1)


@pytest.mark.long
def test_three_layers_attend_to_the_keys_and_values_of_the_first():
    params = drawn(shared(3))
    p = jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), params['params'])
    x, segments = np.asarray(X, np.float64), np.asarray(PACKED.segments)
    h = rms(x, p['mixer_norm']['scale'])
    k = turned(np.einsum('btd,dkh->btkh', h, p['mixer']['key']))
    v = np.einsum('btd,dkh->btkh', h, p['mixer']['value'])
    for layer in (p, p['layer_2'], p['layer_3']):
        h, x = rms(x, layer['mixer_norm']['scale']), x.copy()
        q = turned(np.einsum('btd,dnh->btnh', h, layer['mixer']['query']))
        for b, t, n in np.ndindex(B, T, N):
            seen = [s for s in range(t + 1) if segments[b, s] == segments[b, t]]
            weights = np.exp([q[b, t, n] @ k[b, s, n // (N // K)] / np.sqrt(H) for s in seen])
            x[b, t] += weights / weights.sum() @ v[b, seen, n // (N // K)] @ layer['mixer']['output'][n]
        up, down = layer['feedforward']['up'], layer['feedforward']['down']
        x = x + np.tanh(rms(x, layer['feedforward_norm']['scale']) @ up) @ down
    assert_near(run(shared(3), params)[REAL], x[REAL])


@pytest.mark.long
def test_one_layer_is_a_pre_norm_block():
    """In the parameters it starts from too, in its output and in its steps."""
    starts = [build(spec)().init(jax.random.key(0), X, PACKED, False) for spec in (shared(1), PRE_NORM)]
    jax.tree.map(np.testing.assert_array_equal, *starts)
    params = drawn(PRE_NORM)
    np.testing.assert_array_equal(run(shared(1), params), run(PRE_NORM, params))
    np.testing.assert_array_equal(in_steps(shared(1), params), in_steps(PRE_NORM, params))


@pytest.mark.long
def test_a_second_layer_beside_a_silent_first_is_a_pre_norm_block_with_the_keys_of_the_first():
    params = drawn(PRE_NORM)
    p = params['params']
    own = {name: p['mixer'][name] for name in ('query', 'output')}
    silent = jax.tree.map(jnp.zeros_like, {'feedforward': p['feedforward'], 'output': p['mixer']['output']})
    first = {**p, 'mixer': {**p['mixer'], 'output': silent['output']}, 'feedforward': silent['feedforward']}
    both = {'params': {**first, 'layer_2': {**p, 'mixer': own}}}
    assert_near(run(shared(2), both), run(PRE_NORM, params))


@pytest.mark.parametrize('sharing', [2, 3])
def test_all_but_one_of_the_layers_save_the_projections_of_keys_and_values(sharing):
    more = {'bias': True, 'head_norm': PARTS['norm'], 'gate': {'use': 'jax.nn:sigmoid'}}
    one, all_of_them = size(shapes(shared(1, **more))), size(shapes(shared(sharing, **more)))
    saved = 2 * D * K * H + 2 * K * H + H  # kernels, biases, and the norm of keys
    assert sharing * one - all_of_them == (sharing - 1) * saved


def test_a_model_of_as_many_layers_decodes_with_a_part_of_the_state():
    def state_bytes(block, layers):
        stack = build({'use': 'model.stack:Stack', 'block': block, 'layers': layers, 'run': UNROLLED})()
        state = jax.eval_shape(lambda: stack.init_state(X[:, :1], 32))
        return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(state))

    assert state_bytes(PRE_NORM, 6) == 2 * state_bytes(shared(2), 3) == 3 * state_bytes(shared(3), 2)


def test_the_mixers_meet_in_one_write_of_each_key_and_value():
    """Each is told the state before the chunk; compiled, what they all write is written once."""
    module, params = build(shared(3))(), drawn(shared(3))
    state = module.apply(params, X[:, :1], 32, method='init_state')
    step = jax.jit(functools.partial(module.apply, method='step'), donate_argnums=3)
    compiled = step.lower(params, X[:, :1], LayerContext(PACKED.positions[:, :1]), state).compile().as_text()
    assert len(re.findall(rf'= f32\[{B},{K},32,{H}\]\S* dynamic-update-slice\(', compiled)) == 2


READS = {
    'a ring': {'mask': {'use': 'ops.mask:Window', 'left': 2}},
    'sums': {'kernel': {'use': 'attention.linear:Linear'}, 'fused': True},
    'pairs': {'use': 'attention.differential:Differential', 'position': {'use': 'position.alibi:ALiBi'}},
    'memory': {'use': 'attention.persistent_memory:PersistentMemory', 'count': 2, 'bias': True},
    'tied states': {'use': 'attention.grouped_tied:GroupedTied', 'rotated_width': 2},
    'products': {'use': 'attention.tensor_product:TensorProduct', 'key_rank': 2, 'value_rank': 3},
    'gates': {'terms': [{'use': 'score.forget_gate:ForgetGate'}], 'position': {'use': 'position.none:NoPosition'}},
    'segments': {'use': 'attention.segment_memory:SegmentMemory', 'length': 3, 'memory': 2},
}


@pytest.mark.long
@pytest.mark.parametrize('name', READS)
def test_steps_replay_the_whole_however_what_is_lent_is_read(name):
    spec = shared(2, **READS[name])
    params = drawn(spec)
    assert 'key' not in params['params']['layer_2']['mixer']
    assert_near(in_steps(spec, params)[REAL], run(spec, params)[REAL])


@pytest.mark.long
def test_kernels_agree_in_outputs_and_gradients():
    params = drawn(shared(2))

    def loss(params, kernel):
        y = build(shared(2, kernel=kernel))().apply(params, X, PACKED, False)
        return jnp.sin(y).sum(), y

    blockwise = {'use': 'attention.blockwise:Blockwise', 'query_block': 4, 'key_block': 3}
    given, expected = (
        jax.jit(jax.grad(functools.partial(loss, kernel=kernel), has_aux=True))(params) for kernel in (blockwise, PLAIN)
    )
    jax.tree.map(assert_near, given, expected)


LATENT = {'rank': 6, 'head_width': 4, 'value_width': 3, 'rotated_width': 2, 'norm': PARTS['norm']}
LENDS_NOTHING = {
    'attention.latent:Latent': LATENT | {name: MIXER[name] for name in ('kernel', 'mask', 'position')},
    'attention.retention:Retention': {},
    'attention.delta:Delta': {},
}


@pytest.mark.parametrize('use', LENDS_NOTHING)
def test_a_mixer_without_keys_to_lend_is_refused_by_name(use):
    with pytest.raises(UserError, match=f'mixer: {use} is not a KVSharingMixer: it has no mix_sharing'):
        build({**shared(2), 'mixer': {'use': use, 'heads': N, **LENDS_NOTHING[use]}})


def test_at_least_one_layer_makes_keys():
    with pytest.raises(UserError, match=r'config\.sharing must be at least 1, not 0'):
        shapes(shared(0))
