# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sigmoid contrastive task (SigLIP): classify each pair of an image and a caption of the batch as matching or not.

    loss = mean over i of sum over j of log(1 + exp(-z_ij l_ij)),      z_ij = 1 where i = j, else -1

Zhai et al. 2023, "Sigmoid Loss for Language Image Pre-Training", equation 1, https://arxiv.org/abs/2303.15343; the
model's logits l need a bias, initially about -10, since nearly all pairs do not match. Pairs are compared in chunks,
and under the backend `pmap` the captions are passed around the devices: see `ops.sigmoid_pairs`. With
`config.accumulate` the negatives come from the same microbatch.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from saccade.ops.sigmoid_pairs import sigmoid_pairs
from saccade.task.base import IN_BATCH, Forward
from saccade.task.image_text_base import ImageText
from saccade.task.siamese_base import has_example
from saccade.types import Batch, Count, ImageTextModel, Metric, PRNGKey, Total, UserError

__all__ = ['SigmoidContrastive']


@dataclass(frozen=True)
class SigmoidContrastive(ImageText):
    """Sigmoid contrastive task.

    Attributes:
        chunk: captions compared at once with all images of a device; None for all captions of a device.
        axis: name of the device axis that the rows of a batch are sharded over, set by the backend `pmap`; None if each
            step sees the whole batch.
    """

    chunk: Count | None = None
    axis: str | None = None

    mixes_rows: ClassVar[str] = 'the captions and images that are paired'
    reports: ClassVar[tuple[Metric, ...]] = IN_BATCH

    def inputs(self, model: ImageTextModel, key: PRNGKey, batch: Batch) -> tuple[Any, ...]:
        """Return the arguments of the model's `init`, after the key.

        Raises:
            UserError: the model's logits have no bias.
        """
        if getattr(model, 'logit_bias', 0.0) is None:
            raise UserError(
                'task.sigmoid_contrastive:SigmoidContrastive: the logits need a bias; set '
                '--config.model.logit_bias=-10 --config.model.logit_scale=10'
            )
        return super().inputs(model, key, batch)

    def across(self, axis: str) -> 'SigmoidContrastive':
        """Return the task for a batch whose rows are sharded over a device axis."""
        return replace(self, axis=axis)

    def totals(self, forward: Forward, batch: Batch) -> dict[str, Total]:
        """Return totals over rows: `loss` in nats, and `accuracy` of each image's choice among all captions."""
        found, counts = forward(*self.given(batch), forward.train), has_example(batch)
        line = found.scale, found.bias
        losses, others = sigmoid_pairs(found.image, found.text, line, counts, self.axis, self.chunk)
        hits, weight = line[0] * (found.image * found.text).sum(axis=-1) + line[1] > others, counts.sum()
        return {'loss': Total((losses * counts).sum(), weight), 'accuracy': Total((hits * counts).sum(), weight)}
