# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Blocks without a feed-forward layer: what is left of each, decoding, and the blocks that are nothing without one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from toy_branches import TOYS

from saccade.block.deep_norm import DeepNorm
from saccade.block.hyper_connections import HyperConnections
from saccade.block.layer_scale import LayerScale
from saccade.block.no_residual import NoResidual
from saccade.block.post_norm import PostNorm
from saccade.block.pre_norm import PreNorm
from saccade.block.res_dual import ResDual
from saccade.block.rezero import ReZero
from saccade.block.sandwich import Sandwich
from saccade.block.shared_keys import SharedKeys
from saccade.build import build
from saccade.types import LayerContext, UserError

NEAR = 1e-5  # of the largest element
B, T, D = 2, 6, 4
CONTEXT = LayerContext(jnp.tile(jnp.arange(T), (B, 1)))
X = jnp.array(np.random.default_rng(0).normal(size=(B, T, 2 * D)), jnp.float32)

ADDING = {  # blocks that add what a branch returns, so that a feed-forward layer of zeros is none
    'pre-norm': (PreNorm, {}),
    'sandwich': (Sandwich, {}),
    'rezero': (ReZero, {'shared': False}),
    'layer scale': (LayerScale, {'start': 0.1}),
    'shared keys': (SharedKeys, {'sharing': 2}),
    'hyper-connections': (HyperConnections, {'streams': 1, 'dynamic': False}),
}
OTHERS = {
    'post-norm': (PostNorm, {}),
    'deep-norm': (DeepNorm, {'alpha': 1.7, 'beta': 0.6}),
    'no residual': (NoResidual, {}),
    'two streams': (ResDual, {}),
}
PARTS = {
    'mixer': {'use': 'toy_branches:Averaging'},
    'feedforward': None,
    'norm': {'use': 'norm.rms:RMSNorm'},
}


def made(block, given, **parts):
    module = block(**{**TOYS, **parts}, **given)
    random = np.random.default_rng(1)
    shapes = jax.eval_shape(lambda: module.init(jax.random.key(0), X, CONTEXT, False))['params']
    return module, jax.tree.map(lambda leaf: jnp.array(random.normal(size=leaf.shape), leaf.dtype), shapes)


def assert_near(given, expected):
    np.testing.assert_allclose(given, expected, rtol=0, atol=NEAR * np.abs(expected).max())


def silenced(params):
    """The parameters with every feed-forward layer's matrix at zero, and its hyper-connection keeping the streams."""
    silent = {name: silenced(value) if name.startswith('layer_') else value for name, value in params.items()}
    if 'feedforward_connection' in params:
        keeping = params['feedforward_connection']
        silent['feedforward_connection'] = {**keeping, 'read_bias': jnp.ones_like(keeping['read_bias'])}
    return {**silent, 'feedforward': {'down': jnp.zeros_like(params['feedforward']['down'])}}


def without(params):
    kept = {name: value for name, value in params.items() if not name.startswith('feedforward')}
    return {name: without(value) if name.startswith('layer_') else value for name, value in kept.items()}


@pytest.mark.parametrize('name', ADDING)
def test_no_feedforward_is_one_that_returns_zero(name):
    full, params = made(*ADDING[name])
    alone, own = made(*ADDING[name], feedforward=None)
    assert jax.tree.structure(own) == jax.tree.structure(without(params))
    expected = full.apply({'params': silenced(params)}, X, CONTEXT, False)
    assert_near(alone.apply({'params': without(params)}, X, CONTEXT, False), expected)


def test_a_post_norm_block_of_the_mixer_alone_has_one_norm():
    block, params = made(*OTHERS['post-norm'], feedforward=None)
    mixed = np.cumsum(X, axis=1) / np.arange(1, T + 1)[:, None] @ params['mixer']['output']
    expected = params['mixer_norm']['scale'] * (X + mixed) / (1.0 + np.abs(X + mixed))
    assert_near(block.apply({'params': params}, X, CONTEXT, False), expected)


@pytest.mark.parametrize('name', {**ADDING, **OTHERS})
def test_steps_are_the_whole(name):
    block, params = made(*{**ADDING, **OTHERS}[name], feedforward=None)
    whole = block.apply({'params': params}, X, CONTEXT, False)
    state, parts = block.apply({'params': params}, X[:, :1], T, method='init_state'), []
    for here in (slice(0, 4), slice(4, 5), slice(5, 6)):
        context = LayerContext(CONTEXT.positions[:, here])
        part, state = block.apply({'params': params}, X[:, here], context, state, method='step')
        parts.append(part)
    assert_near(jnp.concatenate(parts, axis=1), whole)


@pytest.mark.parametrize('use', ['block.macaron:Macaron', 'block.parallel:Parallel'])
def test_a_block_that_is_nothing_without_a_feedforward_layer_refuses(use):
    with pytest.raises(UserError, match=rf'config.feedforward: {use} wants a part \(FeedForward\).*, not None'):
        build({'use': use, **PARTS})
