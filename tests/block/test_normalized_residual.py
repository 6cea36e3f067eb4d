# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The nGPT block against its equation, and the norm of its output; nGPT's feed-forward layer against a gated one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.types import LayerContext, UserError

B, T, D = 2, 5, 16
X = jax.random.normal(jax.random.key(0), (B, T, D))
CONTEXT = LayerContext(jnp.broadcast_to(jnp.arange(T), (B, T)))
GATED = {'use': 'feedforward.gated:Gated', 'activation': {'use': 'jax.nn:silu'}, 'ratio': 2.0}
BLOCK = {
    'use': 'block.normalized_residual:NormalizedResidual', 'feedforward': GATED,
    'mixer': {
        'use': 'attention.multi_head:MultiHead', 'heads': 4, 'kernel': {'use': 'attention.plain:Plain'},
        'mask': {'use': 'ops.mask:Causal'}, 'position': {'use': 'position.none:NoPosition'},
    },
}  # fmt: skip


def drawn(module, *given):
    shapes, random = jax.eval_shape(lambda: module.init(jax.random.key(0), *given))['params'], np.random.default_rng(1)
    return jax.tree.map(lambda leaf: jnp.array(random.normal(size=leaf.shape, scale=0.4), leaf.dtype), shapes)


def unit(x):
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


@pytest.fixture(scope='module')
def block():
    module = build(BLOCK)()
    return module, drawn(module, X, CONTEXT, False)


@pytest.fixture(scope='module')
def apply(block):
    return jax.jit(lambda params, x: block[0].apply({'params': params}, x, CONTEXT, False))


@pytest.mark.long
def test_it_is_the_equation_and_returns_vectors_of_norm_1(block, apply):
    _, params = block
    h = np.float64(X)
    for name, rest in (('mixer', (CONTEXT, False)), ('feedforward', (False,))):
        part, of_part = build(BLOCK[name])(), {'params': params[name]}
        y = np.float64(jax.jit(lambda p, x, part=part, rest=rest: part.apply(p, x, *rest))(of_part, np.float32(h)))
        rate = np.abs(np.float64(params[f'{name}_rate'])) * 0.05 * np.sqrt(D)
        h = unit(unit(h) + rate * (unit(y) - unit(h)))
    found = apply(params, X)
    np.testing.assert_allclose(found, h, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(found, axis=-1), 1.0, atol=1e-6)


def test_at_a_rate_of_zero_a_vector_of_norm_1_stays_as_it_is(block, apply):
    _, params = block
    still = params | {name: jnp.zeros(D) for name in params if name.endswith('_rate')}
    np.testing.assert_allclose(apply(still, jnp.asarray(unit(X))), unit(X), atol=1e-6)
    np.testing.assert_array_equal(apply(params | {'mixer_rate': -params['mixer_rate']}, X), apply(params, X))


def test_with_the_gate_undone_the_feed_forward_layer_is_the_gated_one():
    rescaled, gated = (build(GATED | change)() for change in ({'use': 'feedforward.rescaled_gated:RescaledGated'}, {}))
    params = drawn(rescaled, X, False)
    undone = params | {'gate_gain': jnp.full(2 * D, D**-0.5), 'up_gain': jnp.ones(2 * D)}
    expected = gated.apply({'params': params}, X, False)
    np.testing.assert_allclose(rescaled.apply({'params': undone}, X, False), expected, atol=1e-5)
    assert np.abs(rescaled.apply({'params': params}, X, False) - expected).max() > 0.1


def test_factors_above_zero_alone_can_be_stored():
    with pytest.raises(UserError, match=r'rate\.stored must be above 0'):
        build(BLOCK | {'rate': {'use': 'gain:Gain', 'stored': 0.0}})
