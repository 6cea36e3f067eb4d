# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Padding token: padding is embedded as a token and not masked, so every row has the length of the context.

    x = embed([tokens, p, p, ..., p]),      positions 0 .. T-1, one segment; a row without tokens stays padding

The text encoders of SigLIP were trained this way (Zhai et al. 2023, https://arxiv.org/abs/2303.15343; 64 tokens):
padding is not masked, and the output is read at the last place, which is usually padding. Cost: that of full rows.
"""

from typing import Any, ClassVar

import flax.linen as nn
import jax.numpy as jnp
from jaxtyping import Array, Float

from saccade.module import Module
from saccade.types import CountOrZero, Embedding, LayerContext, Part, Table, Tokens

__all__ = ['PaddingToken']


class PaddingToken(Module):
    """Token in the places of padding.

    Attributes: token, id of the padding token; embed, the embedding of the tokens.
    """

    token: CountOrZero
    embed: Part[Embedding]

    example: ClassVar[dict[str, Any]] = {'token': 0, 'embed': {'use': 'embed.token:TokenEmbedding'}}

    @property
    def reads(self) -> str:
        """Name of the embedding's inputs in a batch."""
        return self.embed(parent=None).reads

    @nn.compact
    def __call__(
        self, inputs: Tokens, context: LayerContext, width: int, table: Table | None
    ) -> tuple[Float[Array, 'B T E'], LayerContext]:
        real = context.numbered != 0
        segments = jnp.broadcast_to(real.any(axis=1, keepdims=True), real.shape).astype(jnp.int32)
        positions = jnp.broadcast_to(jnp.arange(inputs.shape[1]), inputs.shape)
        everywhere = context.replace(positions=positions, segments=segments, one_segment=True)
        return self.embed(name='embed')(jnp.where(real, inputs, self.token), everywhere, width, table)
