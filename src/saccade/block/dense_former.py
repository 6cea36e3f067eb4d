# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""DenseFormer block: pre-norm, followed by a weighted average of all outputs so far.

    x_{r+1} = block_r(y_r);   y_{r+1} = sum_d a_d x_{r+1-d},    d = 0 .. r + 1, x_0 the embedded tokens

Pagliardini et al. 2024, "DenseFormer: Enhancing Information Flow in Transformers via Depth Weighted Averaging",
section 3, https://arxiv.org/abs/2402.02622, with every layer averaged (dilation and period 1). Weights are initialised
to a_0 = 1 and zeros, which is pre-norm. Each of the L layers has L + 1 weights; layer r uses r + 2 of them. Outputs of
other block types in between are not averaged. Cost: L T D multiplications per layer; without rematerialisation the
backward pass keeps L + 1 hidden states per layer. Cross-attention is not supported.
"""

from typing import ClassVar

import flax.linen as nn
import jax.numpy as jnp

from saccade.axes import parameter
from saccade.block.pre_norm import PreNorm
from saccade.layer_paths import Depth, hand_on
from saccade.types import Hidden, LayerContext, State

__all__ = ['DenseFormer']


class DenseFormer(PreNorm):
    """DenseFormer block.

    Also called: depth-weighted average, DWA.
    """

    identity: ClassVar[bool] = True
    hands_on: ClassVar[tuple[str, ...]] = ('outputs',)

    def setup(self) -> None:
        """Create the average over the layers."""
        self.depth = _Average()

    def mix(self, x: Hidden, context: LayerContext, train: bool, state: State | None) -> tuple[Hidden, State]:
        """Run the branches; return the average of the block's and the earlier outputs, and the new state."""
        y, state = super().mix(x, context, train, state)
        outputs = Depth.of(context, 'outputs', x).add(context, y)
        hand_on(self, 'outputs', outputs)
        return self.depth(outputs.back(context)), state


class _Average(nn.Module):
    """Weighted average of the outputs, the newest first."""

    @nn.compact
    def __call__(self, outputs: Depth) -> Hidden:
        weights = parameter(self, 'weights', 'X', _newest, outputs.there.shape)
        weights = jnp.where(outputs.there, weights, 0.0).astype(outputs.made.dtype)
        return jnp.einsum('L,LBTD->BTD', weights, outputs.made)


def _newest(key: object, shape: tuple[int]) -> jnp.ndarray:
    return jnp.zeros(shape).at[0].set(1.0)
