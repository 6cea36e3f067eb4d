# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Multiple-negatives ranking: find the second text of each example among all second texts of the batch.

    loss = mean over i of -log exp(cos(u_i, v_i) / t) / Σ_j exp(cos(u_i, v_j) / t)

Henderson et al. 2017, "Efficient Natural Language Response Suggestion for Smart Reply", section 4.4,
https://arxiv.org/abs/1705.00652; with cosines and a temperature t it is InfoNCE (van den Oord et al. 2018,
https://arxiv.org/abs/1807.03748). j runs over the second texts of the whole batch across all devices, and over the
third texts if examples are triplets. Cost: B² D. With `config.accumulate` the negatives come from the same microbatch.
Two examples of a batch with the same second text count as negatives of each other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from einops import rearrange
from jaxtyping import Array

from saccade.metric.bag_of_words import ranks as bag_of_words_ranks
from saccade.metric.retrieval import Distinct, ranks, retrieved
from saccade.ops.similarity import normalised
from saccade.ops.spread import gathered, numbers
from saccade.task.base import IN_BATCH, Forward, scored
from saccade.task.siamese_base import SEARCH, Siamese, has_example
from saccade.types import Batch, EncoderModel, Estimate, Metric, Params, Positive, Scales, Total

__all__ = ['MultipleNegatives', 'bag_of_words']

_NEVER = -1e9  # the logit of padding; finite, so that 0 times the loss of a row of padding is 0


@dataclass(frozen=True)
class MultipleNegatives(Siamese):
    """Multiple-negatives ranking with the head 'pooled', which returns vectors: its `classes` is None.

    Runs and checkpoints are ranked by retrieval over the whole split, since the loss depends on the batch size.

    Attributes:
        temperature: t.
        axis: name of the device axis that the rows of a batch are sharded over, set by the backend `pmap`; None if each
            step sees the whole batch.
    """

    temperature: Scales[Positive] = 0.05
    axis: str | None = None

    mixes_rows: ClassVar[str] = 'the texts to choose among'
    reads: ClassVar[tuple[str, ...]] = ('segments', 'positions', 'example')
    reports: ClassVar[tuple[Metric, ...]] = IN_BATCH
    evaluates: ClassVar[tuple[Metric, ...]] = retrieved.reports
    best_by: ClassVar[str] = 'mrr'
    then: ClassVar[dict[str, str]] = SEARCH

    def across(self, axis: str) -> 'MultipleNegatives':
        """Return the task for a batch whose rows are sharded over a device axis."""
        return replace(self, axis=axis)

    def totals(self, forward: Forward, batch: Batch) -> dict[str, Total]:
        """Return totals over examples: `loss` in nats, and `accuracy` of the choice among all texts of the batch."""
        vectors, counts = normalised(self.vectors(forward, batch)), has_example(batch)
        others = rearrange(gathered(vectors[:, 1:], self.axis), 'B texts D -> (texts B) D')
        is_there = jnp.tile(gathered(counts, self.axis), vectors.shape[1] - 1) > 0
        logits = jnp.einsum('AD,BD->AB', vectors[:, 0], others) / self.temperature
        return scored(jnp.where(is_there, logits, _NEVER), numbers(len(vectors), self.axis), counts)

    def predict(self, model: EncoderModel, params: Params, batch: Batch) -> dict[str, Array]:
        """Return the unit vectors of the texts of each row, and its example."""
        vectors = self.vectors(Forward(model, params), batch)
        return {'vectors': normalised(vectors), 'example': batch['example']}

    def evaluate(self, predictions: Mapping[str, np.ndarray], split: Any) -> dict[str, Estimate]:
        """Return retrieval metrics: the second texts of each first text among all second texts of the split.

        Equal texts are one text.
        """
        there = predictions['example'] >= 0
        vectors, distinct = predictions['vectors'][there], _distinct(split, predictions['example'][there].tolist())
        return retrieved(ranks(vectors[distinct.queries, 0], vectors[distinct.texts, 1], distinct.right))


def bag_of_words(train: Any, validation: Any, vocabulary: int, /) -> dict[str, float]:
    """Return metrics of a baseline that compares texts by the tokens they have in common."""
    first, second, *_ = validation.rows.texts
    distinct = _distinct(validation, range(len(first)))
    queries, corpus = [first[row] for row in distinct.queries], [second[row] for row in distinct.texts]
    found = bag_of_words_ranks(queries, corpus, distinct.right, vocabulary)
    return {name: each.value for name, each in retrieved(found).items()}


def _distinct(split: Any, rows: Sequence[int]) -> Distinct:
    """Return the distinct first and second texts of rows, by their tokens."""
    return Distinct.of(*([texts[row].tobytes() for row in rows] for texts in split.rows.texts[:2]))
