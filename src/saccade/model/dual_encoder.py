# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Dual encoder: an image encoder and a text encoder, whose embeddings are compared (CLIP, OpenCLIP, SigLIP).

    u_i = normalised(image(x_i)),   v_j = normalised(text(y_j)),   logit_ij = e^s u_i . v_j + b

Radford et al. 2021, "CLIP", figure 3, https://arxiv.org/abs/2103.00020, without b; each training step clips e^s to at
most 100 (section 2.5); Zhai et al. 2023, "SigLIP", section 3.2, https://arxiv.org/abs/2303.15343, with b initialised
to -10. The encoders can have different widths; the head 'pooled' of each projects to the shared space.
"""

import math
from typing import ClassVar

import flax.linen as nn
import jax.numpy as jnp
from jaxtyping import Array, Float

from saccade.axes import parameter
from saccade.model.encoder import Encoder
from saccade.module import Module, context_of, on_device
from saccade.ops.similarity import normalised
from saccade.types import ArrayLike, Compared, LayerContext, Part, Positive, Tokens, UserError

__all__ = ['DualEncoder']

_NAME = 'model.dual_encoder:DualEncoder'
_HEAD = 'pooled'


class DualEncoder(Module):
    """Dual encoder.

    Attributes:
        image, text: the encoders; the head 'pooled' of each computes the embeddings.
        logit_scale: initial e^s; 1 / 0.07 in CLIP, 10 in SigLIP.
        max_scale: maximum of e^s after a training step; None for no bound. Loaded weights may exceed it.
        logit_bias: initial b; None for no bias.
    """

    image: Part[Encoder]
    text: Part[Encoder]
    logit_scale: Positive = 1 / 0.07
    max_scale: Positive | None = 100.0
    logit_bias: float | None = None

    why_not: ClassVar[dict[str, str]] = {
        'EncoderModel': 'it consists of two encoders: config.init_part=image or text selects one from a run',
        'LanguageModel': 'it compares images with texts, and does not generate text',
    }

    @property
    def vocabulary(self) -> int:
        """V, the vocabulary size of the texts."""
        return self.text['vocabulary']

    @property
    def context_length(self) -> int:
        """Maximum length of a text, in tokens."""
        return self.text['context_length']

    def setup(self) -> None:
        """Create both encoders, s and b.

        Raises:
            UserError: `logit_scale` is above `max_scale`.
        """
        if self.max_scale is not None and self.logit_scale > self.max_scale:
            raise UserError(f'{_NAME}: logit_scale {self.logit_scale} is above max_scale {self.max_scale}')
        start = nn.initializers.constant(math.log(self.logit_scale))
        # Not clipped here: above the bound the gradient would be zero.
        most = None if self.max_scale is None else math.log(self.max_scale)
        self.log_scale = parameter(self, 'logit_scale', '', start, (), most=most)
        self.line_bias = jnp.zeros(())
        if self.logit_bias is not None:
            self.line_bias = parameter(self, 'logit_bias', '', nn.initializers.constant(self.logit_bias), ())
        self.image_tower, self.text_tower = self.image(name='image'), self.text(name='text')

    def __call__(
        self, images: ArrayLike, tokens: ArrayLike, context: LayerContext | None = None, train: bool = False
    ) -> Compared:
        """Return the embeddings of images and texts, with the scale and bias of their logits."""
        images, tokens = on_device(images), on_device(tokens)
        context = context_of(self, tokens, context)
        image = _read(self.image_tower, images, _of_images(images), train)
        return Compared(image, _read(self.text_tower, tokens, context, train), *self.logit_line())

    def encode_image(self, images: Float[Array, 'B rows columns channels']) -> Float[Array, 'B E']:
        """Return the embeddings of images, of norm 1."""
        return _read(self.image_tower, images, _of_images(images), False)

    def encode_text(self, tokens: Tokens, context: LayerContext) -> Float[Array, 'B E']:
        """Return the embeddings of texts, of norm 1."""
        return _read(self.text_tower, tokens, context, False)

    def logit_line(self) -> tuple[Float[Array, ''], Float[Array, '']]:
        """Return the scale e^s and the bias b of the logits, in float32."""
        return jnp.exp(self.log_scale.astype(jnp.float32)), self.line_bias.astype(jnp.float32)


def _read(tower: Encoder, inputs: Array, context: LayerContext, train: bool) -> Float[Array, 'B E']:
    outputs = tower(inputs, context, train)
    if _HEAD not in outputs:
        there = ', '.join(outputs) or 'none'
        raise UserError(f"{_NAME}: {tower.name} needs the head '{_HEAD}', whose output is compared; it has {there}")
    return normalised(outputs[_HEAD])


def _of_images(images: Array) -> LayerContext:
    """Return the context of images: one row of length 1 per image."""
    one = jnp.ones((len(images), 1), jnp.int32)
    return LayerContext(0 * one, one)
