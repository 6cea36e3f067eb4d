# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Image captioning: translation of an image, whose patches the decoder attends to, into its caption.

    loss = - sum over t of log p(token_{t+1} | token_{<= t}, image) / number of targets

Vinyals et al. 2015, "Show and Tell: A Neural Image Caption Generator", equation 2, https://arxiv.org/abs/1411.4555,
with an encoder-decoder whose encoder embeds patches, as in Li et al. 2021, "TrOCR", https://arxiv.org/abs/2109.10282.
The data are as for image-text models: captions between special tokens, the last of which ends a caption.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from saccade.task.base import Forward
from saccade.task.translation import Translation
from saccade.types import Batch, Estimate, Params, PRNGKey, Seq2Seq, Total

__all__ = ['Captioning']


@dataclass(frozen=True)
class PredictedCaption:
    """Predicted caption. Attributes: caption, the text."""

    caption: str

    def record(self) -> dict[str, Any]:
        """Return the caption."""
        return {'caption': self.caption}

    def lines(self, inputs: Mapping[str, Any]) -> list[str]:
        """Return one line: the image and its caption."""
        return [f'{"  |  ".join(map(str, inputs.values()))}  {self.caption}']


@dataclass(frozen=True)
class Captioning(Translation):
    """Image captioning. Attributes: the attributes of Translation."""

    reads: ClassVar[tuple[str, ...]] = ('images', 'tokens', 'segments', 'positions', 'example')
    then: ClassVar[dict[str, str]] = {'caption more': 'launch/predict.py {inputs}'}

    def inputs(self, model: Seq2Seq, key: PRNGKey, batch: Batch) -> tuple[Any, ...]:
        """Return the arguments of the model's `init`, after the key."""
        return super().inputs(model, key, as_pairs(batch))

    def totals(self, forward: Forward, batch: Batch) -> dict[str, Total]:
        """Return totals over the tokens of the captions: `loss` in nats, and `accuracy`."""
        return super().totals(forward, as_pairs(batch))

    def predict(self, model: Seq2Seq, params: Params, batch: Batch) -> dict[str, Array]:
        """Return the generated tokens of each image, their number, and the index of the row."""
        return super().predict(model, params, as_pairs(batch))

    def evaluate(self, predictions: Mapping[str, Any], split: Any) -> dict[str, Estimate]:
        """Return the metrics of the text of each image, whose references are all its captions."""
        real = np.flatnonzero(predictions['row'] >= 0)
        rows = predictions['row'][real].tolist()
        texts: dict[str, str] = {}
        references: dict[str, list[str]] = {}
        for number, row, image in zip(real, rows, split.rows.items(rows)[0], strict=True):
            texts.setdefault(image, split.text(predictions['tokens'][number][: predictions['counts'][number]]))
            references.setdefault(image, []).append(split.references[row])
        return self.measured(
            [*texts.values()], [right[0] if len(right) == 1 else right for right in references.values()]
        )

    def outputs(self, predictions: Mapping[str, Any], split: Any) -> Iterator[PredictedCaption]:
        """Yield the caption of each image; the split decodes tokens by `text`."""
        for number in np.flatnonzero(predictions['row'] >= 0):
            yield PredictedCaption(split.text(predictions['tokens'][number][: predictions['counts'][number]]))


def as_pairs(batch: Batch) -> Batch:
    """Return a batch of images with captions as sources, of one place each, with targets."""
    there = (batch['segments'] != 0).any(axis=-1, keepdims=True).astype(jnp.int32)
    last = jnp.maximum((batch['segments'] != 0).sum(axis=-1, keepdims=True) - 1, 0)
    return {
        **batch,
        'source': batch['images'],
        'source_segments': there,
        'source_positions': jnp.zeros_like(there),
        'end': jnp.take_along_axis(batch['tokens'], last, axis=-1)[:, 0],
        'row': batch['example'],
    }
