# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Each feed-forward layer against its equation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.feedforward.gated import Gated
from saccade.feedforward.mlp import MLP
from saccade.types import Part

NEAR = 1e-5
B, T, D, F = 2, 3, 6, 16
SILU = Part(jax.nn.silu)


def normal(number, *shape):
    return jnp.array(np.random.default_rng(number).normal(size=shape), jnp.float32)


X = normal(0, B, T, D)
WEIGHTS = {'gate': normal(1, D, F), 'up': normal(2, D, F), 'down': normal(3, F, D)}
BIASES = {'gate_bias': normal(4, F), 'up_bias': normal(5, F), 'down_bias': normal(6, D)}


def silu(x):
    return x / (1 + jnp.exp(-x))


def without(params, *names):
    return {name: leaf for name, leaf in params.items() if name not in names}


@pytest.mark.parametrize('bias', [True, False])
def test_mlp(bias):
    params = without(WEIGHTS | (BIASES if bias else {}), 'gate', 'gate_bias')
    hidden = X @ params['up'] + params.get('up_bias', 0.0)
    expected = silu(hidden) @ params['down'] + params.get('down_bias', 0.0)
    y = MLP(activation=SILU, ratio=F / D, bias=bias).apply({'params': params}, X, False)
    np.testing.assert_allclose(y, expected, atol=NEAR * np.abs(expected).max())


@pytest.mark.parametrize('bias', [True, False])
def test_gated(bias):
    params = WEIGHTS | (BIASES if bias else {})
    gate, up = (X @ params[name] + params.get(f'{name}_bias', 0.0) for name in ('gate', 'up'))
    expected = (silu(gate) * up) @ params['down'] + params.get('down_bias', 0.0)
    y = Gated(activation=SILU, width=F, bias=bias).apply({'params': params}, X, False)
    np.testing.assert_allclose(y, expected, atol=NEAR * np.abs(expected).max())


def shapes(module, width=D):
    x = jax.ShapeDtypeStruct((B, T, width), jnp.float32)
    params = jax.eval_shape(lambda x: module.init(jax.random.key(0), x, False), x)['params']
    return {name: leaf.shape for name, leaf in params.items()}


def test_widths():
    assert shapes(MLP(activation=SILU, ratio=2.0))['up'] == (D, 2 * D)
    assert shapes(Gated(activation=SILU, ratio=2.0))['up'] == (D, 2 * D)
    assert shapes(Gated(activation=SILU, ratio=2.0, width=7))['up'] == (D, 7)


def test_a_gated_layer_of_eight_thirds_has_the_parameters_of_an_mlp_of_four():
    sizes = [
        sum(np.prod(shape) for shape in shapes(module, 96).values())
        for module in (Gated(activation=SILU), MLP(activation=SILU, bias=False))
    ]
    assert sizes[0] == sizes[1]


GATES = {
    'jax.nn:sigmoid': lambda z: 1 / (1 + np.exp(-z)),
    'jax.nn:identity': lambda z: z,
    'jax.nn:relu': lambda z: np.maximum(z, 0),
    'jax.nn:gelu': lambda z: z * (1 + np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z**3))) / 2,
    'jax.nn:silu': lambda z: z / (1 + np.exp(-z)),
}


@pytest.mark.parametrize('activation', GATES)
def test_the_activation_names_the_gated_variant(activation):
    """GLU, bilinear, ReGLU, GEGLU and SwiGLU."""
    x, params = (jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), tree) for tree in (X, WEIGHTS))
    expected = (GATES[activation](x @ params['gate']) * (x @ params['up'])) @ params['down']
    module = build({'use': 'feedforward.gated:Gated', 'activation': {'use': activation}, 'width': F})()
    y = module.apply({'params': WEIGHTS}, X, False)
    np.testing.assert_allclose(y, expected, atol=NEAR * np.abs(expected).max())


def test_squared_relu():
    expected = np.maximum(np.asarray(X @ WEIGHTS['up']), 0) ** 2 @ WEIGHTS['down']
    activation = {'use': 'ops.activation:squared_relu'}
    module = build({'use': 'feedforward.mlp:MLP', 'activation': activation, 'ratio': F / D, 'bias': False})()
    y = module.apply({'params': without(WEIGHTS, 'gate')}, X, False)
    np.testing.assert_allclose(y, expected, atol=NEAR * np.abs(expected).max())


def test_a_permutation_of_the_tokens_permutes_the_outputs():
    params = WEIGHTS | BIASES
    order = np.array([2, 0, 1])
    for module in (MLP(activation=SILU, ratio=F / D), Gated(activation=SILU, width=F, bias=True)):
        own = {name: params[name] for name in shapes(module)}
        y = module.apply({'params': own}, X, False)
        np.testing.assert_array_equal(module.apply({'params': own}, X[:, order], False), y[:, order])


def test_a_token_gate_scales_what_its_expert_makes():
    w = normal(4, D, 1)
    expert = {'use': 'feedforward.gated:Gated', 'activation': {'use': 'jax.nn:silu'}, 'width': F}
    y = build({'use': 'feedforward.token_gated:TokenGated', 'expert': expert})().apply(
        {'params': {'gate': w, 'expert': WEIGHTS}}, X, False
    )
    x, params, w = (jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), tree) for tree in (X, WEIGHTS, w))
    gate = x @ params['gate']
    made = (gate / (1 + np.exp(-gate)) * (x @ params['up'])) @ params['down']
    expected = made / (1 + np.exp(-x @ w))
    np.testing.assert_allclose(y, expected, atol=NEAR * np.abs(expected).max())
