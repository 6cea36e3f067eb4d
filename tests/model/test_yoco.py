# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""YOCO against a loop in which keys and values have a norm of their own; what it keeps; when it is a Transformer."""

import functools
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.train.config import load_config
from saccade.types import LayerContext

F32_RELATIVE = 1e-5  # of the largest element
B, T, V = 2, 9, 11
D, N, K, H, F = 16, 4, 2, 4, 12
LEFT, HALF = 2, 2  # tokens that a window looks back; layers of each decoder
TOKENS = jnp.array(np.random.default_rng(0).integers(0, V, (B, T)))
PACKED = LayerContext(
    jnp.array([[0, 1, 2, 3, 0, 1, 2, 3, 4], [0, 0, 0, 1, 2, 3, 4, 5, 6]]),
    jnp.array([[1, 1, 1, 1, 2, 2, 2, 2, 2], [0, 0, 1, 1, 1, 1, 1, 1, 1]]),
)
REAL = PACKED.segments != 0


def spec(half=HALF, left=LEFT):
    """The experiment's model, small."""
    config = load_config(str(Path(__file__).parents[2] / 'experiments/causal_lm/yoco_tiny.py'))
    model = config['model'] | {'vocabulary': V, 'width': D, 'layers': half + 1}
    self_decoder = model['block'] | {
        'mixer': model['block']['mixer'] | {'mask': {'use': 'ops.mask:Window', 'left': left}},
        'feedforward': model['block']['feedforward'] | {'width': F},
    }
    (cross,) = model['last_blocks']
    cross_decoder = cross | {'sharing': half, 'feedforward': self_decoder['feedforward']}
    return model | {'block': self_decoder, 'last_blocks': [cross_decoder]}


def drawn(model):
    shapes = jax.eval_shape(lambda: build(model)().init(jax.random.key(0), TOKENS, PACKED, False))
    random = np.random.default_rng(1)
    return jax.tree.map(lambda leaf: jnp.array(random.normal(0.2, 0.4, leaf.shape), leaf.dtype), shapes)


def run(model, params):
    return jax.jit(lambda params: build(model)().apply(params, TOKENS, PACKED, False))(params)


def assert_near(given, expected):
    np.testing.assert_allclose(given, expected, rtol=0, atol=F32_RELATIVE * np.abs(expected).max())


def rms(x, gain=1.0):
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5) * gain


def turned(x, position):
    angles = position * 10000.0 ** (-2 * np.arange(H // 2) / H)
    z = (x[..., : H // 2] + 1j * x[..., H // 2 :]) * np.exp(1j * angles)
    return np.concatenate([z.real, z.imag], axis=-1)


def keys_and_values(h, p):
    made = [np.einsum('btd,dkh->btkh', h, p[name]) for name in ('key', 'value')]
    positions = np.asarray(PACKED.positions)[..., None, None]
    return turned(made[0], positions), made[1]


def layer(x, p, keys, values, left):
    """A pre-norm layer of these keys and values, one query at a time."""
    h, x, segments = rms(x, p['mixer_norm']['scale']), x.copy(), np.asarray(PACKED.segments)
    for b, t, n in np.ndindex(B, T, N):
        q = turned(h[b, t] @ p['mixer']['query'][:, n], PACKED.positions[b, t])
        seen = [s for s in range(max(0, t - left), t + 1) if segments[b, s] == segments[b, t]]
        weights = np.exp([q @ keys[b, s, n // (N // K)] / np.sqrt(H) for s in seen])
        x[b, t] += weights / weights.sum() @ values[b, seen, n // (N // K)] @ p['mixer']['output'][n]
    h, f = rms(x, p['feedforward_norm']['scale']), p['feedforward']
    gate = h @ f['gate']
    return x + (gate / (1 + np.exp(-gate)) * (h @ f['up'])) @ f['down']


def looped(params):
    """Section 2 of the paper; the norm of keys and values has a gain of 2, and their projections the rest."""
    p = jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), params['params'])
    x = p['embedding'][np.asarray(TOKENS)]
    for number in range(HALF):
        own = jax.tree.map(lambda leaf, number=number: leaf[number], p['layers']['pattern_0'])
        x = layer(x, own, *keys_and_values(rms(x, own['mixer_norm']['scale']), own['mixer']), LEFT)
    first = jax.tree.map(lambda leaf: leaf[0], p['layers']['last_0'])
    rest = first['mixer_norm']['scale'][:, None, None] / 2.0
    shared = keys_and_values(rms(x, 2.0), {name: rest * first['mixer'][name] for name in ('key', 'value')})
    for own in (first, *(first[f'layer_{number}'] for number in range(2, HALF + 1))):
        x = layer(x, own, *shared, T)
    return rms(x, p['norm']['scale']) @ p['embedding'].T


@pytest.mark.long
def test_it_is_its_equations():
    params = drawn(spec())
    assert 'key' not in params['params']['layers']['last_0']['layer_2']['mixer']
    assert_near(run(spec(), params)[REAL], looped(params)[REAL])


@pytest.mark.long
def test_steps_give_the_whole_sequence():
    model, params = build(spec())(), drawn(spec())
    params = {'params': params['params']}
    state = model.apply(params, TOKENS, T, method='init_state')
    step = jax.jit(functools.partial(model.apply, method='step'))
    ones, outputs = jnp.ones_like(TOKENS), []
    for start, stop in ((0, 4), (4, 5), (5, 9)):
        logits, state = step(params, TOKENS[:, start:stop], ones[:, start:stop], state)
        outputs.append(logits)
    whole = model.apply(params, TOKENS, LayerContext(jnp.tile(jnp.arange(T), (B, 1))), False)
    assert_near(jnp.concatenate(outputs, axis=1), whole)


@pytest.mark.long
def test_with_a_layer_in_each_half_and_a_long_window_it_is_a_transformer():
    """Whose keys and values are made by each layer, as those of one cross-decoder layer are."""
    yoco = spec(half=1, left=T)
    params = drawn(yoco)
    causal = yoco['block'] | {'mixer': yoco['block']['mixer'] | {'mask': {'use': 'ops.mask:Causal'}}}
    apart = yoco | {'block': causal, 'last_blocks': [causal]}
    np.testing.assert_array_equal(run(yoco, params), run(apart, params))


@pytest.mark.parametrize('half', [2, 5])
def test_the_bytes_that_a_row_leaves(half):
    slots, number = 64, 4 * 2 * K * H  # bytes of a token's keys and values

    def kept(model):
        shapes = jax.eval_shape(lambda: build(model)().init(jax.random.key(0), TOKENS, PACKED, False))
        state = jax.eval_shape(
            lambda: build(model)().apply(
                jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes), TOKENS, slots, method='init_state'
            )
        )
        return sum(x.size * x.dtype.itemsize for layer in state.layers for x in (layer.k, layer.v)) / B

    yoco = spec(half)
    transformer = yoco | {'block': yoco['last_blocks'][0] | {'sharing': 1}, 'last_blocks': [], 'layers': 2 * half}
    assert kept(yoco) == (slots + half * (LEFT + 1)) * number
    assert kept(transformer) == 2 * half * slots * number
