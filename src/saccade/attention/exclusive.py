# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Exclusive self-attention (XSA): the output of a head is made orthogonal to the token's own value.

    y'_i = y_i - share (y_i . v_i) v_i / |v_i|^2,    y_i the head's output, v_i the value of token i itself

Zhai 2026, "Exclusive Self Attention", https://arxiv.org/abs/2603.09078, with share = 1: the residual connection already
carries the token itself. share = 0 is multi-head attention. Query heads that share a value head each lose their own
component along it. At share = 1 a token that attends only to itself, such as the first of a causal row, has output 0.
Cost: multi-head attention and 3 T N H. No cross-attention.
"""

from typing import Any, ClassVar

import jax.numpy as jnp
from einops import repeat

from saccade.attention.multi_head import MultiHead
from saccade.ops.scoring import Scoring
from saccade.types import (
    Capabilities,
    Hidden,
    Keys,
    LayerContext,
    Mixed,
    Probability,
    Queries,
    State,
    Values,
)

__all__ = ['Exclusive']

_TINY = 1e-18  # a value whose squared length is less has no direction; float32 can still square this for the gradient


class Exclusive(MultiHead):
    """Exclusive self-attention.

    Also called: XSA, exclusive self-attention.

    Attributes: the attributes of MultiHead; share of the part along the token's own value that is taken off.
    """

    share: Probability

    capabilities: ClassVar[Capabilities] = Capabilities(cross=False)
    example: ClassVar[dict[str, Any]] = {'share': 0.5}

    def attend(
        self,
        q: Queries,
        k: Keys,
        v: Values,
        scoring: Scoring,
        x: Hidden,
        context: LayerContext,
        train: bool,
        state: State | None,
    ) -> tuple[Mixed, State]:
        """Attend, and subtract from each head's output its part along the token's own value."""
        context.require_no_source('attention.exclusive:Exclusive')
        mixed, state = super().attend(q, k, v, scoring, x, context, train, state)
        own = repeat(v.astype(jnp.float32), 'B T K H -> B T (K G) H', G=mixed.shape[-2] // v.shape[-2])
        square = jnp.maximum(jnp.sum(own * own, axis=-1, keepdims=True), _TINY)
        along = jnp.sum(mixed * own, axis=-1, keepdims=True) / square
        return (mixed - self.share * along * own).astype(mixed.dtype), state
