# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What initialisers and scales of branches are for: one size of outputs and of updates at any depth, any width."""

from collections.abc import Mapping
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.attention.multi_head import MultiHead
from saccade.attention.plain import Plain
from saccade.block.deep_norm import DeepNorm
from saccade.block.post_norm import PostNorm
from saccade.block.pre_norm import PreNorm
from saccade.feedforward.mlp import MLP
from saccade.model.stack import Scanned, Stack
from saccade.module import Layer
from saccade.norm.layer import LayerNorm
from saccade.ops.mask import Causal
from saccade.position.none import NoPosition
from saccade.types import LayerContext, Part

B, T, D = 2, 6, 16
CONTEXT = LayerContext(jnp.tile(jnp.arange(T), (B, 1)))
SEEDS = 4
XAVIER = Part(nn.initializers.glorot_normal)


class Averaging(Layer):
    """Attention with uniform weights: the mean of the tokens so far, through a value and an output kernel."""

    @nn.compact
    def mix(self, x, context, train, state):
        shape = 2 * x.shape[-1:]
        value, output = (self.param(name, XAVIER(), shape) for name in ('value', 'output'))
        return jnp.cumsum(x, axis=1) / (1.0 + context.positions[..., None]) @ value @ output, None

    def init_state(self, x, capacity):
        raise NotImplementedError


def stack(block: type[Any], layers: int, **fields: float) -> Stack:
    """Layers of tiny blocks. They have kernels alone: the bound is not one on biases and scales of norms."""
    xavier = (('kernel_init', XAVIER), ('output_init', XAVIER))
    relu = Part(MLP, (('activation', Part(jax.nn.relu)), ('bias', False), *xavier))
    parts = {
        'mixer': Part(Averaging),
        'feedforward': relu,
        'norm': Part(LayerNorm, (('scale', False), ('bias', False))),
    }
    return Stack(
        block=Part(block, tuple({**parts, **fields}.items())), layers=layers, run=Part(Scanned, (('remat', None),))
    )


def rms(x: jax.Array) -> jax.Array:
    return jnp.sqrt(jnp.mean(jnp.square(x)))


def sizes(model: Stack, rate: float = 1e-3) -> Mapping[str, float]:
    """Geometric means over initialisations: of the output, and of its change by one step of gradient descent."""
    x, target = jax.random.normal(jax.random.key(9), (2, B, T, D))

    def one(key):
        params = model.init(key, x, CONTEXT, False)
        y, pull = jax.vjp(lambda params: model.apply(params, x, CONTEXT, False), params)
        (by_params,) = pull(2 * (y - target) / y.size)
        moved = jax.tree.map(lambda leaf, slope: leaf - rate * slope, params, by_params)
        return {'output': rms(y), 'update': rms(model.apply(moved, x, CONTEXT, False) - y)}

    drawn = jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(0), SEEDS))
    return {name: float(np.exp(np.log(value).mean())) for name, value in drawn.items()}


def deep(layers: int) -> Stack:
    """As the paper has it for a decoder alone."""
    return stack(DeepNorm, layers, alpha=(2 * layers) ** 0.25, beta=(8 * layers) ** -0.25)


@pytest.mark.long
def test_deep_norm_bounds_the_first_update_at_any_depth_where_that_of_post_norm_grows():
    bounded = [sizes(deep(layers))['update'] for layers in (6, 24, 96)]
    growing = [sizes(stack(PostNorm, layers))['update'] for layers in (6, 24, 96)]
    assert max(bounded) < 1.2 * min(bounded)
    assert growing[1] > 2.0 * growing[0]
    assert growing[2] > 4.0 * growing[0]


@pytest.mark.long
def test_branches_scaled_by_the_root_of_the_depth_keep_a_pre_norm_stack_of_one_size():
    """Unscaled, each branch adds about the same, so that the hidden state grows as the root of the depth."""
    scaled = [sizes(stack(PreNorm, layers, branch_scale=layers**-0.5))['output'] for layers in (6, 96)]
    plain = [sizes(stack(PreNorm, layers))['output'] for layers in (6, 96)]
    assert scaled[1] == pytest.approx(scaled[0], rel=0.2)
    assert plain[1] > 2.5 * plain[0]


def update_at(width: int, rate: float) -> float:
    """How much one step of Adam, which is one of signs, changes what a block of this width makes of its tokens."""
    mixer = Part(
        MultiHead,
        (
            ('heads', width // 8),
            ('kernel', Part(Plain)),
            ('mask', Part(Causal)),
            ('position', Part(NoPosition)),
            ('scale', 1 / 8),
        ),
    )
    layer = Part(MLP, (('activation', Part(jax.nn.relu)), ('bias', False)))
    block = PreNorm(mixer=mixer, feedforward=layer, norm=Part(LayerNorm, (('scale', False), ('bias', False))))
    x, target = jax.random.normal(jax.random.key(9), (2, B, T, width))

    @jax.jit
    def change(key):
        params = block.init(key, x, CONTEXT, False)
        y, pull = jax.vjp(lambda params: block.apply(params, x, CONTEXT, False), params)
        (slopes,) = pull(y - target)
        moved = jax.tree.map(lambda leaf, slope: leaf - rate * jnp.sign(slope), params, slopes)
        return rms(block.apply(moved, x, CONTEXT, False) - y)

    return float(change(jax.random.key(0)))


@pytest.mark.long
def test_at_a_rate_of_one_over_the_width_a_block_is_changed_alike_at_any_width():
    """The coordinate check of muP (Yang et al. 2022, https://arxiv.org/abs/2203.03466, figure 5) for what blocks
    have of it: kernels that start with variance 1 / inputs, as ours do, and scores divided by H."""
    alike = [update_at(width, 0.032 / width) for width in (32, 512)]
    growing = [update_at(width, 0.001) for width in (32, 512)]
    assert alike[0] / 1.5 < alike[1] < 1.5 * alike[0]
    assert growing[1] > 4.0 * growing[0]
