# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Dual encoder: a tower of images and one of texts, whose vectors are compared (CLIP, OpenCLIP, SigLIP).

    u_i = normalised(image(x_i)),   v_j = normalised(text(y_j)),   logit_ij = e^s u_i . v_j + b

Radford et al. 2021, "CLIP", figure 3, https://arxiv.org/abs/2103.00020, without b, where each training step ends with
e^s at most 100 (section 2.5); Zhai et al. 2023, "SigLIP", section 3.2, https://arxiv.org/abs/2303.15343, with b = -10
at first. The towers have widths of their own; the head 'pooled' of each ends in the space that they share.
"""

import math
from typing import ClassVar

import flax.linen as nn
import jax.numpy as jnp
from jaxtyping import Array, Float

from saccade.axes import parameter
from saccade.model.encoder import Encoder
from saccade.ops.similarity import normalised
from saccade.types import Compared, LayerContext, Part, Positive, Tokens, UserError

__all__ = ['DualEncoder']

_NAME = 'model.dual_encoder:DualEncoder'
_HEAD = 'pooled'


class DualEncoder(nn.Module):
    """Dual encoder.

    Attributes:
        image, text: the towers; the head 'pooled' of each makes the vectors.
        logit_scale: e^s at first; CLIP has 1 / 0.07, SigLIP 10.
        most_scale: e^s at most after a step of training; None for no bound. Loaded weights may have more.
        logit_bias: b at first; None for none.
    """

    image: Part[Encoder]
    text: Part[Encoder]
    logit_scale: Positive = 1 / 0.07
    most_scale: Positive | None = 100.0
    logit_bias: float | None = None

    why_not: ClassVar[dict[str, str]] = {
        'EncoderModel': 'its towers are encoders: config.init_part=image or text takes one of them from a run',
        'LanguageModel': 'it compares images with texts, and writes none',
    }

    @property
    def vocabulary(self) -> int:
        """V of the texts."""
        return self.text['vocabulary']

    @property
    def context_length(self) -> int:
        """The longest text, in tokens."""
        return self.text['context_length']

    def setup(self) -> None:
        """Make both towers, s and b.

        Raises:
            UserError: s starts above its bound.
        """
        if self.most_scale is not None and self.logit_scale > self.most_scale:
            raise UserError(f'{_NAME}: logit_scale {self.logit_scale} is above most_scale {self.most_scale}')
        start = nn.initializers.constant(math.log(self.logit_scale))
        # Not clipped here, where it would have no gradient above the bound.
        most = None if self.most_scale is None else math.log(self.most_scale)
        self.log_scale = parameter(self, 'logit_scale', '', start, (), most=most)
        self.line_bias = jnp.zeros(())
        if self.logit_bias is not None:
            self.line_bias = parameter(self, 'logit_bias', '', nn.initializers.constant(self.logit_bias), ())
        self.image_tower, self.text_tower = self.image(name='image'), self.text(name='text')

    def __call__(self, images: Array, tokens: Tokens, context: LayerContext, train: bool) -> Compared:
        """Return the vectors of images and of texts, and how their products become logits."""
        image = _read(self.image_tower, images, _of_images(images), train)
        return Compared(image, _read(self.text_tower, tokens, context, train), *self.logit_line())

    def encode_image(self, images: Float[Array, 'B rows columns channels']) -> Float[Array, 'B E']:
        """Return the vectors of images, of norm 1."""
        return _read(self.image_tower, images, _of_images(images), False)

    def encode_text(self, tokens: Tokens, context: LayerContext) -> Float[Array, 'B E']:
        """Return the vectors of texts, of norm 1."""
        return _read(self.text_tower, tokens, context, False)

    def logit_line(self) -> tuple[Float[Array, ''], Float[Array, '']]:
        """Return e^s, the factor of the products, and b, which is added, in float32."""
        return jnp.exp(self.log_scale.astype(jnp.float32)), self.line_bias.astype(jnp.float32)


def _read(tower: Encoder, inputs: Array, context: LayerContext, train: bool) -> Float[Array, 'B E']:
    outputs = tower(inputs, context, train)
    if _HEAD not in outputs:
        there = ', '.join(outputs) or 'none'
        raise UserError(f"{_NAME}: {tower.name} needs the head '{_HEAD}', whose output is compared; it has {there}")
    return normalised(outputs[_HEAD])


def _of_images(images: Array) -> LayerContext:
    """Each image is one place of a row of its own."""
    one = jnp.ones((len(images), 1), jnp.int32)
    return LayerContext(0 * one, one)
