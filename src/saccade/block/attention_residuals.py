# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Attention residuals (AttnRes): each branch reads a softmax-weighted sum of the earlier layers' outputs.

    h = sum_r p_r b_r,  p = softmax_r(w . rms(b_r));  branch(norm(h)),    b_0 the embedded tokens, b_r what layer r adds

Kimi Team 2026, "Attention Residuals", https://arxiv.org/abs/2603.15031: its Block AttnRes with one layer a block. The
feed-forward layer also reads the output of the mixer of its own layer. w is a trained vector per branch, initialised
to zeros: the weights are equal, and after a scale-invariant norm the input is that of pre-norm. The model's last norm
reads the sum of all outputs, as in pre-norm. Outputs of other block types in between are not read. Cost: 2 L T D
multiplications per branch; without rematerialisation the backward pass keeps L + 1 hidden states per layer.
Cross-attention is not supported.
"""

from typing import ClassVar

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from saccade.axes import parameter
from saccade.block.base import BlockBase
from saccade.layer_paths import Depth, hand_on
from saccade.types import Hidden, LayerContext, Part, State

__all__ = ['AttentionResiduals']

_EPSILON = 1e-6  # of the root mean square


class AttentionResiduals(BlockBase):
    """Attention residuals block.

    Also called: AttnRes, attention residual.

    Attributes: the attributes of every block; query_init of w.
    """

    identity: ClassVar[bool] = True
    hands_on: ClassVar[tuple[str, ...]] = ('added',)

    query_init: Part = Part(nn.initializers.constant, (('value', 0.0),))

    @nn.compact
    def mix(self, x: Hidden, context: LayerContext, train: bool, state: State | None) -> tuple[Hidden, State]:
        """Run mixer and feed-forward layer, each on a softmax over the outputs so far, and add both outputs to x."""
        so_far = Depth.of(context, 'added', x)
        shape = (len(self.branches), x.shape[-1])
        queries = parameter(self, 'queries', 'X D', self.query_init(), shape, dtype=jnp.float32)
        h = _read(queries[0], so_far.made, so_far.there)
        added, state = self.run_mixer(self.norm_of('mixer')(h, context.real), context, train, state)
        if self.feedforward is not None:
            made = jnp.concatenate([so_far.made, added[None]])
            h = self.norm_of('feedforward')(_read(queries[1], made, jnp.append(so_far.there, True)), context.real)
            added = added + self.run_feedforward(h, context, train)
        hand_on(self, 'added', so_far.add(context, added))
        return x + added, state


def _read(query: Float[Array, ' D'], made: Float[Array, 'L B T D'], there: Bool[Array, ' L']) -> Hidden:
    wide = made.astype(jnp.float32)
    rms = jax.lax.rsqrt(jnp.mean(wide * wide, axis=-1) + _EPSILON)
    scores = rms * jnp.einsum('LBTD,D->LBT', wide, query)
    shares = jax.nn.softmax(jnp.where(there[:, None, None], scores, -jnp.inf), axis=0)
    return jnp.einsum('LBT,LBTD->BTD', shares.astype(made.dtype), made)
