# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Padding token: padding becomes a token that is read like any other, so that every row is as long as the context.

    x = embed([tokens, p, p, ..., p]),      positions 0 .. T-1, one segment; a row without tokens stays padding

The text towers of SigLIP were trained so (Zhai et al. 2023, https://arxiv.org/abs/2303.15343; 64 tokens): no mask hides
the padding, and the last place, which is mostly padding, is what is read of a text. Cost: that of whole rows.
"""

from typing import Any, ClassVar

import flax.linen as nn
import jax.numpy as jnp
from jaxtyping import Array, Float

from saccade.types import CountOrZero, Embedding, LayerContext, Part, Table, Tokens

__all__ = ['PaddingToken']


class PaddingToken(nn.Module):
    """Padding token in the place of padding.

    Attributes: token, its id; embed, the embedding of the tokens.
    """

    token: CountOrZero
    embed: Part[Embedding]

    example: ClassVar[dict[str, Any]] = {'token': 0, 'embed': {'use': 'embed.token:TokenEmbedding'}}

    @property
    def reads(self) -> str:
        """The name of the inputs of the embedding in a batch."""
        return self.embed(parent=None).reads

    @nn.compact
    def __call__(
        self, inputs: Tokens, context: LayerContext, width: int, table: Table | None
    ) -> tuple[Float[Array, 'B T E'], LayerContext]:
        real = context.numbered != 0
        segments = jnp.broadcast_to(real.any(axis=1, keepdims=True), real.shape).astype(jnp.int32)
        positions = jnp.broadcast_to(jnp.arange(inputs.shape[1]), inputs.shape)
        everywhere = context.replace(positions=positions, segments=segments)
        return self.embed(name='embed')(jnp.where(real, inputs, self.token), everywhere, width, table)
