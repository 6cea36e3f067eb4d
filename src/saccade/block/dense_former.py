# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""DenseFormer block: pre-norm, after which a layer hands on a weighted average of all outputs so far.

    x_{r+1} = block_r(y_r);   y_{r+1} = sum_d a_d x_{r+1-d},    d = 0 .. r + 1, x_0 the embedded tokens

Pagliardini et al. 2024, "DenseFormer: Enhancing Information Flow in Transformers via Depth Weighted Averaging",
section 3, https://arxiv.org/abs/2402.02622, with every layer averaged (dilation and period 1). Weights start from
a_0 = 1 and zeros, which is pre-norm. All L layers have L + 1 weights, of which layer r uses its r + 2; blocks of other
kinds between them are not averaged. Cost: L T D products a layer; without rematerialisation the backward pass keeps
L + 1 hidden states a layer. It has no cross-attention.
"""

from typing import ClassVar

import flax.linen as nn
import jax.numpy as jnp

from saccade.axes import parameter
from saccade.block.pre_norm import PreNorm
from saccade.layers import Depth, hand_on
from saccade.types import Hidden, LayerContext, State

__all__ = ['DenseFormer']


class DenseFormer(PreNorm):
    """DenseFormer block.

    Also called: depth-weighted average, DWA.
    """

    identity: ClassVar[bool] = True
    hands_on: ClassVar[tuple[str, ...]] = ('outputs',)

    def setup(self) -> None:
        """Make the average over the layers, which comes after the branches."""
        self.depth = _Average()

    def mix(self, x: Hidden, context: LayerContext, train: bool, state: State | None) -> tuple[Hidden, State]:
        """Run the branches; return the average of the block's output and earlier ones, and the state."""
        y, state = super().mix(x, context, train, state)
        outputs = Depth.of(context, 'outputs', x).add(context, y)
        hand_on(self, 'outputs', outputs)
        return self.depth(outputs.back(context)), state


class _Average(nn.Module):
    """Weighted average of the outputs, from the newest back."""

    @nn.compact
    def __call__(self, outputs: Depth) -> Hidden:
        weights = parameter(self, 'weights', 'X', _newest, outputs.there.shape)
        weights = jnp.where(outputs.there, weights, 0.0).astype(outputs.made.dtype)
        return jnp.einsum('L,LBTD->BTD', weights, outputs.made)


def _newest(key: object, shape: tuple[int]) -> jnp.ndarray:
    return jnp.zeros(shape).at[0].set(1.0)
