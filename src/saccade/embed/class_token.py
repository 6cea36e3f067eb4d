# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Class token: a trained vector before the outputs of another embedding, for heads that read the first place.

    x = [c, embed(inputs)]

Dosovitskiy et al. 2021, "An Image is Worth 16x16 Words", section 3.1, https://arxiv.org/abs/2010.11929, has one, and
DeiT a second around it, for distillation (Touvron et al. 2021, section 4, https://arxiv.org/abs/2012.12877). It has
the first position. A row is one segment, and padding stays padding. Cost: one place.
"""

from typing import Any, ClassVar

import flax.linen as nn
import jax.numpy as jnp
from jaxtyping import Array, Float

from saccade.axes import parameter
from saccade.module import Module
from saccade.types import Embedding, Inputs, LayerContext, Part, Table

__all__ = ['ClassToken']


class ClassToken(Module):
    """Class token before the places of another embedding.

    Attributes: embed, the other embedding; token_init, the initialiser of the token.
    """

    embed: Part[Embedding]
    token_init: Part = Part(nn.initializers.normal, (('stddev', 0.02),))

    example: ClassVar[dict[str, Any]] = {'embed': {'use': 'embed.patch:PatchEmbedding', 'patch': 2}}

    @property
    def reads(self) -> str | tuple[str, ...]:
        """Name of the other embedding's inputs in a batch."""
        return self.embed(parent=None).reads

    @nn.compact
    def __call__(
        self, inputs: Inputs, context: LayerContext, width: int, table: Table | None
    ) -> tuple[Float[Array, 'B T E'], LayerContext]:
        x, context = self.embed(name='embed')(inputs, context, width, table)
        token, segments = parameter(self, 'token', 'D', self.token_init(), (width,)), context.numbered
        first = jnp.broadcast_to(token.astype(x.dtype), (len(x), 1, width))
        return jnp.concatenate([first, x], axis=1), context.replace(
            positions=jnp.pad(context.positions + (segments != 0), ((0, 0), (1, 0))),
            segments=jnp.concatenate([segments[:, :1], segments], axis=1),
        )
