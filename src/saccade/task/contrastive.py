# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Contrastive task (CLIP): an image finds its caption among those of the batch, and a caption its image.

    loss = 1/2 mean over i of -log exp(l_ii) / sum_j exp(l_ij)  +  1/2 mean over i of -log exp(l_ii) / sum_j exp(l_ji)

Radford et al. 2021, "Learning Transferable Visual Models From Natural Language Supervision", figure 3,
https://arxiv.org/abs/2103.00020; the temperature is learned, in the logits l of `model.dual_encoder`. It is InfoNCE
(van den Oord et al. 2018, https://arxiv.org/abs/1807.03748) in both directions, over the whole batch, on whichever
devices its rows are. Cost: 2 B^2 D. With `config.accumulate` the others are those of a microbatch. Two rows of a batch
with the same caption count as wrong for each other.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import jax.numpy as jnp

from saccade.ops.spread import gathered, numbers
from saccade.task.base import IN_BATCH, Forward, scored
from saccade.task.image_text_base import ImageText
from saccade.task.siamese_base import there
from saccade.types import Batch, ImageTextModel, Metric, Params, PRNGKey, Total

__all__ = ['Contrastive']

_NEVER = -1e9  # the logit of padding; finite, so that 0 times the loss of a row of padding is 0


@dataclass(frozen=True)
class Contrastive(ImageText):
    """Contrastive task.

    Attributes:
        axis: name of the axis of devices that the rows of a batch are spread over, which the backend `pmap` gives;
            None where each step sees the whole batch.
    """

    axis: str | None = None

    mixes_rows: ClassVar[str] = 'the captions and images to choose among'
    reports: ClassVar[tuple[Metric, ...]] = IN_BATCH

    def across(self, axis: str) -> 'Contrastive':
        """The same task where the rows of a batch are spread over the devices of an axis."""
        return replace(self, axis=axis)

    def totals(
        self, forward: Forward, model: ImageTextModel, params: Params, batch: Batch, key: PRNGKey
    ) -> dict[str, Total]:
        """Return totals over rows: `loss` in nats and `accuracy`, means of both directions."""
        found, counts = self.compared(forward, model, params, batch, key), there(batch)
        is_there, own = gathered(counts, self.axis) > 0, numbers(len(counts), self.axis)
        ways = []
        for queries, others in ((found.image, found.text), (found.text, found.image)):
            logits = found.scale * jnp.einsum('AD,BD->AB', queries, gathered(others, self.axis)) + found.bias
            ways.append(scored(jnp.where(is_there, logits, _NEVER), own, counts))
        return {name: Total(sum(way[name].total for way in ways) / 2, ways[0][name].weight) for name in ways[0]}
