# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Image and text in one sequence, the patches before the tokens (single-stream vision-language models).

    x = [patches(image) + p_image + m_0,  E[tokens] + p_text + m_1]

Kim et al. 2021, "ViLT: Vision-and-Language Transformer Without Convolution or Region Supervision", section 3.1,
https://arxiv.org/abs/2102.03334; m are the modal-type embeddings. There the text is first; here the image, so padding
stays at the end of a row. Positions p are counted separately for image and text; the positions passed to mixers
increase through both. The tokens are the last T places of the output. Cost: that of both.
"""

from typing import Any, ClassVar

import flax.linen as nn
import jax.numpy as jnp
from jaxtyping import Array, Float

from saccade.axes import parameter
from saccade.embed.token import TokenEmbedding
from saccade.module import Module
from saccade.types import Embedding, LayerContext, Part, Table, TokenPosition

__all__ = ['ImageAndText']


class ImageAndText(Module):
    """Image and text in one sequence.

    Attributes:
        image, text: embeddings of image and text; a row has one image.
        image_position: position scheme of the image.
        text_position: position scheme of the text.
        modal_init: initialiser of the two modal-type embeddings, m_0 and m_1.
    """

    image: Part[Embedding]
    image_position: Part[TokenPosition]
    text_position: Part[TokenPosition]
    text: Part[Embedding] = Part(TokenEmbedding)
    modal_init: Part = Part(nn.initializers.normal, (('stddev', 0.02),))

    example: ClassVar[dict[str, Any]] = {
        'image': {'use': 'embed.patch:PatchEmbedding', 'patch': 2},
        'image_position': {'use': 'position.none:NoPosition'},
        'text_position': {'use': 'position.none:NoPosition'},
    }

    @property
    def reads(self) -> tuple[str, str]:
        """Names of the images and the tokens in a batch."""
        return self.image(parent=None).reads, self.text(parent=None).reads

    @nn.compact
    def __call__(
        self, inputs: tuple[Array, Array], context: LayerContext, width: int, table: Table | None
    ) -> tuple[Float[Array, 'B T E'], LayerContext]:
        images, tokens = inputs
        one = context.numbered[:, :1]  # an image is one place; padding, if the row is
        patches, around = self.image(name='image')(images, LayerContext(jnp.zeros_like(one), one), width, table)
        patches = self.image_position(name='image_position')(patches, around.positions)
        words, context = self.text(name='text')(tokens, context, width, table)
        words = self.text_position(name='text_position')(words, context.positions)
        modal = parameter(self, 'modal', 'X D', self.modal_init(), (2, width), decays=True).astype(words.dtype)
        after = (context.positions + patches.shape[1]) * (context.numbered != 0)
        types = context.types
        return jnp.concatenate([patches + modal[0], words + modal[1]], axis=1), context.replace(
            positions=jnp.concatenate([around.positions, after], axis=1),
            segments=jnp.concatenate([around.numbered, context.numbered], axis=1),
            one_segment=False,
            types=None if types is None else jnp.pad(types, ((0, 0), (patches.shape[1], 0))),
        )
