# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Triplet loss: an anchor must be closer to a matching text than to a non-matching one, by a margin.

    loss = mean over triplets of max(|a - p| - |a - n| + margin, 0)

Schroff et al. 2015, "FaceNet", https://arxiv.org/abs/1503.03832; for sentences, with Euclidean distances and a margin
of 1: Reimers and Gurevych 2019, "Sentence-BERT", section 3, https://arxiv.org/abs/1908.10084.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from saccade.metric.bootstrap import of_mean
from saccade.ops.similarity import distance
from saccade.task.base import Forward
from saccade.task.siamese_base import SEARCH, Siamese, has_example
from saccade.types import (
    Batch,
    EncoderModel,
    Estimate,
    Metric,
    Params,
    Positive,
    PRNGKey,
    Scales,
    Total,
    UserError,
    fraction,
)

__all__ = ['Triplet']


@dataclass(frozen=True)
class Triplet(Siamese):
    """Triplet loss with the head 'pooled', which returns vectors: its `classes` is None.

    Attributes: margin, a distance.
    """

    margin: Scales[Positive] = 1.0

    reads: ClassVar[tuple[str, ...]] = ('segments', 'positions', 'example')
    reports: ClassVar[tuple[Metric, ...]] = (Metric('loss', 'lowest', 0.0), fraction('accuracy'))
    evaluates: ClassVar[tuple[Metric, ...]] = (fraction('accuracy'),)
    bare: ClassVar[str] = 'triplet_loss'
    then: ClassVar[dict[str, str]] = SEARCH

    def totals(
        self, forward: Forward, model: EncoderModel, params: Params, batch: Batch, key: PRNGKey
    ) -> dict[str, Total]:
        """Return totals over triplets: `loss`, a distance, and `accuracy`, the fraction in the right order."""
        margins, counts = self._margins(forward, model, params, batch, key), has_example(batch)
        losses, weight = jnp.maximum(self.margin - margins, 0.0), counts.sum()
        hits = (margins > 0) * counts
        return {'loss': Total((losses * counts).sum(), weight), 'accuracy': Total(hits.sum(), weight)}

    def predict(self, model: EncoderModel, params: Params, batch: Batch) -> dict[str, Array]:
        """Return the margin by which the matching text is closer than the other, and the example, of each row."""
        margins = self._margins(Forward(train=False), model, params, batch, jax.random.key(0))
        return {'margin': margins, 'example': batch['example']}

    def evaluate(self, predictions: Mapping[str, np.ndarray], split: Any) -> dict[str, Estimate]:
        """Return `accuracy`, the fraction of triplets in the right order."""
        margins = predictions['margin'][predictions['example'] >= 0]
        return {'accuracy': of_mean((margins > 0).astype(np.float64))}

    def _margins(self, forward: Forward, model: EncoderModel, params: Params, batch: Batch, key: PRNGKey) -> Array:
        """Return the distance of the third text from the first minus the distance of the second from the first, [B]."""
        vectors = self.vectors(forward, model, params, batch, key)
        if vectors.shape[1] != 3:
            raise UserError(
                f'config.data: a triplet has 3 texts, not {vectors.shape[1]}; data.negative is the column of the third'
            )
        anchor, positive, negative = (vectors[:, number] for number in range(3))
        return distance(anchor, negative) - distance(anchor, positive)
