# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Patch embedding: a linear map of each patch of an image (ViT).

    x_p = flatten(patch p of the image) W + b,      p = 0 .. P-1, row by row

Dosovitskiy et al. 2021, "An Image is Worth 16x16 Words", equation 1, https://arxiv.org/abs/2010.11929. It equals a
convolution with stride equal to its kernel size. An image, one place of a batch, becomes P places. Cost: P patch^2 C E.
"""

from typing import ClassVar

import flax.linen as nn
import jax.numpy as jnp
from einops import rearrange
from jaxtyping import Array, Float

from saccade.axes import parameter
from saccade.module import Module
from saccade.ops.project import project
from saccade.types import Count, LayerContext, Part, Table, UserError

__all__ = ['PatchEmbedding']


class PatchEmbedding(Module):
    """Patch embedding.

    Attributes: patch, side of a patch in pixels; bias, whether to add b [E], initialised to 0; kernel_init, the
        initialiser of W [patch patch C, E].
    """

    patch: Count
    bias: bool = True
    kernel_init: Part = Part(nn.initializers.lecun_normal)

    reads: ClassVar[str] = 'images'
    example: ClassVar[dict[str, int]] = {'patch': 2}

    @nn.compact
    def __call__(
        self, inputs: Array, context: LayerContext, width: int, table: Table | None
    ) -> tuple[Float[Array, 'B P E'], LayerContext]:
        name = 'embed.patch:PatchEmbedding'
        if inputs.ndim != 4:
            raise UserError(f'{name}: images have axes [B rows columns channels], not the shape {inputs.shape}')
        _, rows, columns, channels = inputs.shape
        if rows % self.patch or columns % self.patch:
            raise UserError(f'{name}: patches of {self.patch} pixels do not divide images of {rows} by {columns}')
        patches = rearrange(inputs, 'B (Y y) (X x) C -> B (Y X) (y x C)', y=self.patch, x=self.patch)
        shape = (self.patch, self.patch, channels, width)
        kernel = parameter(self, 'kernel', 'X X X -> D', self.kernel_init(), shape)
        x = project(patches.astype(kernel.dtype), rearrange(kernel, 'y x C E -> (y x C) E'))
        if self.bias:
            x = x + parameter(self, 'bias', 'D', nn.initializers.zeros, (width,))
        positions = jnp.broadcast_to(jnp.arange(x.shape[1]), x.shape[:2])
        segments = jnp.broadcast_to(context.numbered, x.shape[:2])
        return x, context.replace(positions=positions, segments=segments, one_segment=True)
