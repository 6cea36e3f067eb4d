# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sigmoid contrastive task (SigLIP): of each image and each caption of the batch, tell whether they belong together.

    loss = mean over i of sum over j of log(1 + exp(-z_ij l_ij)),      z_ij = 1 where i = j, else -1

Zhai et al. 2023, "Sigmoid Loss for Language Image Pre-Training", equation 1, https://arxiv.org/abs/2303.15343; the
model's logits l need a bias, about -10 at first, as nearly all pairs do not belong. Pairs are compared a chunk at a
time, and under the backend `pmap` the captions go around the devices: see `ops.sigmoid_pairs`. With `config.accumulate`
the others are those of a microbatch.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

from saccade.ops.sigmoid_pairs import sigmoid_pairs
from saccade.task.base import IN_BATCH, Forward
from saccade.task.image_text_base import ImageText
from saccade.task.siamese_base import there
from saccade.types import Batch, Count, ImageTextModel, Metric, Params, PRNGKey, Total

__all__ = ['SigmoidContrastive']


@dataclass(frozen=True)
class SigmoidContrastive(ImageText):
    """Sigmoid contrastive task.

    Attributes:
        chunk: captions that are compared with all images of a device at once; None: all those of a device.
        axis: name of the axis of devices that the rows of a batch are spread over, which the backend `pmap` gives;
            None where each step sees the whole batch.
    """

    chunk: Count | None = None
    axis: str | None = None

    mixes_rows: ClassVar[str] = 'the captions and images that are paired'
    reports: ClassVar[tuple[Metric, ...]] = IN_BATCH

    def across(self, axis: str) -> 'SigmoidContrastive':
        """The same task where the rows of a batch are spread over the devices of an axis."""
        return replace(self, axis=axis)

    def totals(
        self, forward: Forward, model: ImageTextModel, params: Params, batch: Batch, key: PRNGKey
    ) -> dict[str, Total]:
        """Return totals over rows: `loss` in nats, and `accuracy` of an image's choice among all captions."""
        found, counts = self.compared(forward, model, params, batch, key), there(batch)
        line = found.scale, found.bias
        losses, others = sigmoid_pairs(found.image, found.text, line, counts, self.axis, self.chunk)
        hits, weight = line[0] * (found.image * found.text).sum(axis=-1) + line[1] > others, counts.sum()
        return {'loss': Total((losses * counts).sum(), weight), 'accuracy': Total((hits * counts).sum(), weight)}
