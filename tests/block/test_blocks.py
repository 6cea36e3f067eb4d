# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Each block against its equations, and the lectures' claims of them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from counted import count_primitive

from saccade.build import build
from saccade.types import LayerContext

NEAR = 1e-5
B, T, D = 2, 5, 8
X = jnp.array(np.random.default_rng(0).normal(size=(B, T, D)), jnp.float32)
CONTEXT = LayerContext(jnp.tile(jnp.arange(T), (B, 1)))

MIXER = {
    'use': 'attention.multi_head:MultiHead',
    'heads': 2,
    'kernel': {'use': 'attention.plain:Plain'},
    'mask': {'use': 'ops.mask:Causal'},
    'position': {'use': 'position.none:NoPosition'},
}
FEEDFORWARD = {'use': 'feedforward.mlp:MLP', 'activation': {'use': 'jax.nn:gelu'}}
NORM = {'use': 'norm.layer:LayerNorm'}
PARTS = {'mixer': MIXER, 'feedforward': FEEDFORWARD, 'norm': NORM}


def block(use):
    module = build({'use': use, **PARTS})()
    random = np.random.default_rng(1)
    shapes = jax.eval_shape(lambda: module.init(jax.random.key(0), X, CONTEXT, False))
    return module, jax.tree.map(lambda leaf: jnp.array(random.normal(size=leaf.shape, scale=0.5), leaf.dtype), shapes)


def by_hand(params):
    """The parts that a block is wired of, each with its own parameters."""

    def norm(name):
        return lambda x: build(NORM)().apply({'params': params['params'][name]}, x)

    mixer = build(MIXER)()
    layer = build(FEEDFORWARD)()
    return (
        lambda x: mixer.apply({'params': params['params']['mixer']}, x, CONTEXT, False),
        lambda x: layer.apply({'params': params['params']['feedforward']}, x, False),
        norm('mixer_norm'),
        norm('feedforward_norm'),
    )


@pytest.mark.long
def test_pre_norm():
    module, params = block('block.pre_norm:PreNorm')
    mixer, feedforward, mixer_norm, feedforward_norm = by_hand(params)
    h = X + mixer(mixer_norm(X))
    expected = h + feedforward(feedforward_norm(h))
    np.testing.assert_allclose(module.apply(params, X, CONTEXT, False), expected, atol=NEAR * np.abs(expected).max())


@pytest.mark.long
def test_post_norm():
    module, params = block('block.post_norm:PostNorm')
    mixer, feedforward, mixer_norm, feedforward_norm = by_hand(params)
    h = mixer_norm(X + mixer(X))
    expected = feedforward_norm(h + feedforward(h))
    np.testing.assert_allclose(module.apply(params, X, CONTEXT, False), expected, atol=NEAR * np.abs(expected).max())


@pytest.mark.long
@pytest.mark.parametrize(('use', 'identity'), [('block.pre_norm:PreNorm', True), ('block.post_norm:PostNorm', False)])
def test_zeroed_branches_make_the_identity_of_a_pre_norm_block_alone(use, identity):
    module, params = block(use)
    params['params']['mixer']['output'] *= 0.0
    params['params']['feedforward']['down'] *= 0.0
    params['params']['feedforward']['down_bias'] *= 0.0
    y = module.apply(params, X, CONTEXT, False)
    assert bool((y == X).all()) == identity


def test_each_place_of_a_norm_has_weights_of_its_own():
    _, params = block('block.pre_norm:PreNorm')
    assert params['params'].keys() == {'mixer', 'feedforward', 'mixer_norm', 'feedforward_norm'}


def test_a_block_is_eight_matrix_products():
    """Four projections, scores and values, and two of the MLP: with query, key and value in one the lectures' six."""
    module, params = block('block.pre_norm:PreNorm')
    assert count_primitive(lambda params, x: module.apply(params, x, CONTEXT, False), 'dot_general', params, X) == 8
    mixer = build(MIXER)()
    mixer_params = {'params': params['params']['mixer']}
    assert (
        count_primitive(lambda params, x: mixer.apply(params, x, CONTEXT, False), 'dot_general', mixer_params, X) == 6
    )
