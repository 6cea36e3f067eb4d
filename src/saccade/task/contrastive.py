# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Contrastive task (CLIP): match each image with its caption among the captions of the batch, and the reverse.

    loss = 1/2 mean over i of -log exp(l_ii) / sum_j exp(l_ij)  +  1/2 mean over i of -log exp(l_ii) / sum_j exp(l_ji)

Radford et al. 2021, "Learning Transferable Visual Models From Natural Language Supervision", figure 3,
https://arxiv.org/abs/2103.00020; the logits l have a learned temperature (`model.dual_encoder`). It is InfoNCE (van den
Oord et al. 2018, https://arxiv.org/abs/1807.03748) in both directions, over the whole batch across all devices. Cost:
2 B^2 D. With `config.accumulate` the negatives come from the same microbatch. Two rows of a batch with the same caption
count as negatives of each other.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import jax.numpy as jnp

from saccade.ops.spread import gathered, numbers
from saccade.task.base import IN_BATCH, Forward, scored
from saccade.task.image_text_base import ImageText
from saccade.task.siamese_base import has_example
from saccade.types import Batch, Metric, Total

__all__ = ['Contrastive']

_NEVER = -1e9  # the logit of padding; finite, so that 0 times the loss of a row of padding is 0


@dataclass(frozen=True)
class Contrastive(ImageText):
    """Contrastive task.

    Attributes:
        axis: name of the device axis that the rows of a batch are sharded over, set by the backend `pmap`; None if each
            step sees the whole batch.
    """

    axis: str | None = None

    mixes_rows: ClassVar[str] = 'the captions and images to choose among'
    reports: ClassVar[tuple[Metric, ...]] = IN_BATCH

    def across(self, axis: str) -> 'Contrastive':
        """Return the task for a batch whose rows are sharded over a device axis."""
        return replace(self, axis=axis)

    def totals(self, forward: Forward, batch: Batch) -> dict[str, Total]:
        """Return totals over rows: `loss` in nats and `accuracy`, means over both directions."""
        found, counts = forward(*self.given(batch), forward.train), has_example(batch)
        is_there, own = gathered(counts, self.axis) > 0, numbers(len(counts), self.axis)
        ways = []
        for queries, others in ((found.image, found.text), (found.text, found.image)):
            logits = found.scale * jnp.einsum('AD,BD->AB', queries, gathered(others, self.axis)) + found.bias
            ways.append(scored(jnp.where(is_there, logits, _NEVER), own, counts))
        return {name: Total(sum(way[name].total for way in ways) / 2, ways[0][name].weight) for name in ways[0]}
