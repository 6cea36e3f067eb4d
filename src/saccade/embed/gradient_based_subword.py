# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Gradient-based subword tokenisation (GBST, Charformer): a soft choice among blocks of characters, then downsampling.

    X_b = repeat(mean over blocks of b characters),  b = 1 .. M;   p_i = softmax over b of w . X_bi
    p <- softmax(p p^T) p,  if calibrated;   y_i = sum over b of p_ib X_bi;   x = mean over blocks of `stride` of y

Tay et al. 2021, "Charformer: Fast Character Transformers via Gradient-based Subword Tokenization", section 2.1,
https://arxiv.org/abs/2106.12672. Blocks begin at the first character. Means and calibration leave padding out. The row
is `stride` times shorter, so it is for heads that read rows as a whole, and for the source of an encoder-decoder. A row
is one segment. Cost: T M D for the blocks, T^2 M if calibrated; the layers then read T / stride places.
"""

from typing import Any, ClassVar

import flax.linen as nn
import jax
import jax.numpy as jnp
from einops import rearrange
from jaxtyping import Array, Bool, Float

from saccade.axes import parameter
from saccade.embed.token import TokenEmbedding
from saccade.module import Module
from saccade.ops.project import project
from saccade.ops.softmax import masked_softmax
from saccade.types import Count, Embedding, Inputs, LayerContext, Mixer, Part, Table

__all__ = ['GradientBasedSubword']


class GradientBasedSubword(Module):
    """Gradient-based subword tokenisation.

    Attributes:
        blocks: M, the longest block in characters; 4 in the paper.
        stride: characters per place of the result; 2 or 3 in the paper.
        calibrated: whether the choices of similar characters are averaged.
        embed: embedding of the characters.
        convolution: convolution of the embedded characters before the blocks, as
            `recurrent.mixer.centred_convolution:CentredConvolution`; None for none.
        kernel_init: initialiser of w.
    """

    blocks: Count
    stride: Count
    calibrated: bool = False
    embed: Part[Embedding] = Part(TokenEmbedding)
    convolution: Part[Mixer] | None = None
    kernel_init: Part = Part(nn.initializers.lecun_normal)

    example: ClassVar[dict[str, Any]] = {'blocks': 3, 'stride': 2, 'calibrated': True}

    @property
    def reads(self) -> str | tuple[str, ...]:
        """Name of the characters in a batch."""
        return self.embed(parent=None).reads

    @nn.compact
    def __call__(
        self, inputs: Inputs, context: LayerContext, width: int, table: Table | None
    ) -> tuple[Float[Array, 'B T E'], LayerContext]:
        x, context = self.embed(name='embed')(inputs, context, width, table)
        real, T = context.numbered != 0, x.shape[1]
        if self.convolution is not None:
            x = self.convolution(name='convolution')(x, context)
        sizes = range(1, self.blocks + 1)
        choices = jnp.stack([jnp.repeat(block_means(x, real, size), size, axis=1)[:, :T] for size in sizes], axis=-2)
        kernel = parameter(self, 'choice', 'D -> X', self.kernel_init(), (width, 1))
        shares = jax.nn.softmax(project(choices, kernel)[..., 0].astype(jnp.float32))
        if self.calibrated:
            alike = jnp.einsum('BTM,BSM->BTS', shares, shares)
            alike = masked_softmax(alike, jnp.broadcast_to(real[:, None], alike.shape))
            shares = jnp.einsum('BTS,BSM->BTM', alike, shares)
        y = jnp.einsum('BTM,BTMD->BTD', shares.astype(x.dtype), choices)
        there = block_means(real[..., None].astype(jnp.float32), real, self.stride)[..., 0] > 0
        first = slice(None, None, self.stride)
        return block_means(y, real, self.stride), context.replace(
            positions=context.positions[:, first] // self.stride,
            segments=there.astype(jnp.int32),
            types=None if context.types is None else context.types[:, first],
        )


def block_means(x: Float[Array, 'B T D'], real: Bool[Array, 'B T'], size: int) -> Float[Array, 'B P D']:
    """Return the mean of each block of `size` places over those that are real; 0 for a block without any."""
    missing = -x.shape[1] % size
    counts = jnp.pad(real, ((0, 0), (0, missing)))[..., None].astype(x.dtype)
    blocks, counts = (
        rearrange(each, 'B (P size) D -> B P size D', size=size)
        for each in (jnp.pad(x, ((0, 0), (0, missing), (0, 0))), counts)
    )
    return (blocks * counts).sum(axis=2) / jnp.maximum(counts.sum(axis=2), 1)
