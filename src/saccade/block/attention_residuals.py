# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Attention residuals (AttnRes): each branch reads a softmax-weighted sum of the outputs of earlier groups of layers.

    h = sum_n p_n b_n,  p = softmax_n(w . rms(b_n)),  branch(norm(h));    b_0 the embedded tokens, b_n the sum of what
    the layers of group n have added so far

Kimi Team 2026, "Attention Residuals", https://arxiv.org/abs/2603.15031: its Block AttnRes, whose blocks are the groups.
As published, the last layer has `before_head`: the model's last norm reads such a sum too, not the sum of all outputs
as in pre-norm. w is a trained vector per branch, initialised to zeros: the weights are equal, and after a
scale-invariant norm the input is that of pre-norm. Outputs of other block types in between are not read. Cost: 2 L T D
multiplications per branch for L groups; without rematerialisation the backward pass keeps L + 1 hidden states per
layer. Cross-attention is not supported.
"""

from typing import ClassVar

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from saccade.axes import parameter
from saccade.block.base import BlockBase
from saccade.layer_paths import Depth, hand_on
from saccade.types import Count, Hidden, LayerContext, Part, State

__all__ = ['AttentionResiduals']

_EPSILON = 1e-6  # of the root mean square


class AttentionResiduals(BlockBase):
    """Attention residuals block.

    Also called: AttnRes, Block AttnRes, attention residual.

    Attributes: the attributes of every block; group, number of layers in a group, counted from the first layer of the
    stack; before_head, return the weighted sum of all outputs, by a query of its own: for the last layer of a stack;
    query_init, initialiser of the query (w).
    """

    identity: ClassVar[bool] = True
    hands_on: ClassVar[tuple[str, ...]] = ('added',)

    group: Count = 1
    before_head: bool = False
    query_init: Part = Part(nn.initializers.constant, (('value', 0.0),))

    @nn.compact
    def mix(self, x: Hidden, context: LayerContext, train: bool, state: State | None) -> tuple[Hidden, State]:
        """Run mixer and feed-forward layer, each on a softmax over the outputs so far, and add both outputs to x."""
        so_far = Depth.of(context, 'added', x, self.group)
        shape = (len(self.branches) + self.before_head, x.shape[-1])
        queries = parameter(self, 'queries', 'X D', self.query_init(), shape, dtype=jnp.float32)
        h = self.norm_of('mixer')(_read(queries[0], so_far), context.real)
        y, state = self.run_mixer(h, context, train, state)
        x, so_far = x + y, so_far.add(context, y)
        if self.feedforward is not None:
            h = self.norm_of('feedforward')(_read(queries[1], so_far), context.real)
            y = self.run_feedforward(h, context, train)
            x, so_far = x + y, so_far.add(context, y)
        hand_on(self, 'added', so_far)
        return _read(queries[-1], so_far) if self.before_head else x, state


def _read(query: Float[Array, ' D'], so_far: Depth) -> Hidden:
    wide = so_far.made.astype(jnp.float32)
    rms = jax.lax.rsqrt(jnp.mean(wide * wide, axis=-1) + _EPSILON)
    scores = rms * jnp.einsum('LBTD,D->LBT', wide, query)
    shares = jax.nn.softmax(jnp.where(so_far.there[:, None, None], scores, -jnp.inf), axis=0)
    return jnp.einsum('LBT,LBTD->BTD', shares.astype(so_far.made.dtype), so_far.made)
