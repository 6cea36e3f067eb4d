# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Zero-shot classification: the class of an image is the one whose name, in a prompt, has the closest text vector.

    w_c = normalised(mean over templates of text(template of c)),      p(c | image) = softmax over c of logits

With a bias, as in SigLIP, each class has a probability of its own: p(c | image) = sigmoid of its logit.

Radford et al. 2021, "CLIP", sections 3.1.2 and 3.1.4 (prompts, and prompt ensembles), https://arxiv.org/abs/2103.00020.
The scale and the bias of the logits are the model's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from saccade.data.caption.frame import CaptionFrame
from saccade.data.image.rows import ImageSource
from saccade.data.image.tokenizer import TokenizerAndImages
from saccade.decode.batches import COMPARED
from saccade.ops.similarity import normalised
from saccade.types import Count, ImageTextModel, LayerContext, Params, UserError

PLACEHOLDER = '{}'


@dataclass(frozen=True, eq=False)
class ZeroShot:
    """Zero-shot classifier with a dual encoder.

    Attributes: model, params; processor and frame of its inputs; rows, number of images or prompts per batch.
    """

    model: ImageTextModel
    params: Params
    processor: TokenizerAndImages
    frame: CaptionFrame
    rows: Count = COMPARED

    def classifier(self, classes: Sequence[str], templates: Sequence[str] = (PLACEHOLDER,)) -> Float[np.ndarray, 'C E']:
        """Return the unit vector of each class.

        Args:
            templates: prompts, in which {} is replaced by the class name.

        Raises:
            UserError: there are no classes, two are equal, or a template has no {}.
        """
        if not classes or not all(classes) or len({*classes}) < len(classes):
            raise UserError(f'classes: {len(classes)} are given; name at least one, each once: "a dog,a cat"')
        wrong = [template for template in templates if PLACEHOLDER not in template]
        if wrong:
            raise UserError(f"template: '{wrong[0]}' has no {PLACEHOLDER} for the name of a class")
        prompts = [template.replace(PLACEHOLDER, each) for each in classes for template in templates]
        vectors = self.texts(prompts).reshape(len(classes), len(templates), -1)
        return np.asarray(normalised(jnp.asarray(vectors.mean(axis=1))))

    def probabilities(self, logits: Float[np.ndarray, 'images C']) -> Float[np.ndarray, 'images C']:
        """Return the probability of each class, by the loss that the model was trained with."""
        if self.model.logit_bias is not None:
            return np.asarray(jax.nn.sigmoid(logits))
        return np.asarray(jax.nn.softmax(logits, axis=-1))

    def texts(self, texts: Sequence[str]) -> Float[np.ndarray, 'texts E']:
        """Return the unit vectors of texts."""
        rows = [self.frame.row(ids) for ids in self.processor.encode_batch(texts)]
        stacked = {name: np.stack([row[name] for row in rows]) for name in rows[0]}
        return self._read(self._text, stacked, len(texts))

    def images(self, images: ImageSource) -> Float[np.ndarray, 'images E']:
        """Return the unit vectors of images, which are decoded batch by batch.

        Raises:
            UserError: an image cannot be read.
        """
        found = []
        for start in range(0, len(images), self.rows):
            numbers = range(start, min(start + self.rows, len(images)))
            pixels = np.stack([self.processor.images(images[number], images.place(number)) for number in numbers])
            found.append(self._read(self._image, {'images': pixels}, len(pixels)))
        return np.concatenate(found)

    def logits(
        self, images: Float[np.ndarray, 'images E'], texts: Float[np.ndarray, 'C E']
    ) -> Float[np.ndarray, 'images C']:
        """Return the logits of image vectors with text vectors."""
        scale, bias = self.model.apply({'params': self.params}, method='logit_line')
        return float(scale) * np.einsum('AD,BD->AB', images, texts) + float(bias)

    def _read(self, read: Any, inputs: dict[str, np.ndarray], count: int) -> np.ndarray:
        """Return the vectors of inputs, in padded batches of equal shape."""
        found = []
        for start in range(0, count, self.rows):
            some = {name: array[start : start + self.rows] for name, array in inputs.items()}
            missing = self.rows - len(next(iter(some.values())))
            full = {name: np.pad(array, [(0, missing)] + [(0, 0)] * (array.ndim - 1)) for name, array in some.items()}
            found.append(np.asarray(read(self.params, full), np.float32)[: self.rows - missing])
        return np.concatenate(found)

    @cached_property
    def _text(self) -> Any:
        def read(params: Params, rows: dict[str, Array]) -> Array:
            context = LayerContext(rows['positions'], rows['segments'])
            return self.model.apply({'params': params}, rows['tokens'], context, method='encode_text')

        return jax.jit(read)

    @cached_property
    def _image(self) -> Any:
        return jax.jit(lambda params, rows: self.model.apply({'params': params}, rows['images'], method='encode_image'))
