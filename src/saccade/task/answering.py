# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Answering: predict the answer token at each position that the data marks as a question.

    loss = mean over the tokens that have a label of -log p(label | tokens up to it)

Diagnostics measure a mixer's abilities this way (Arora et al. 2023, "Zoology", https://arxiv.org/abs/2312.04927): the
answer is not an input token, and unpredictable tokens carry no loss. With few questions per row and a large vocabulary,
`answers` computes only their logits: B M V instead of B T V.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from saccade.ops.vocabulary import OutputProjection
from saccade.task.base import SCORED, Forward, PredictsTokens, TokenScores, context_of, over_targets, surprise
from saccade.types import (
    IGNORED,
    Batch,
    Count,
    LanguageModel,
    Metric,
    PRNGKey,
    Total,
    fraction,
)

__all__ = ['Answering', 'chance']

ANSWERED = *SCORED, fraction('solved')  # what `answered` returns

_READ = 1000  # rows of a split that a baseline reads


@dataclass(frozen=True)
class Answering(PredictsTokens):
    """Answering.

    Attributes: as in `task.base:PredictsTokens`, and
        answers: maximum number of questions per row (M); logits are then computed only at the questions. None computes
            logits at all positions. The loss of a row with more questions is NaN, which stops training.
    """

    answers: Count | None = None

    trains: ClassVar[tuple[type, str]] = (LanguageModel, 'a decoder')
    unprojected: ClassVar[tuple[str, ...]] = ('answers', 'vocabulary_chunk')
    reads: ClassVar[tuple[str, ...]] = ('tokens', 'labels', 'segments', 'positions')
    reports: ClassVar[tuple[Metric, ...]] = ANSWERED

    def inputs(self, model: LanguageModel, key: PRNGKey, batch: Batch) -> tuple[Any, ...]:
        """Return the arguments of the model's `init`, after the key."""
        return batch['tokens'], context_of(batch), False

    def totals(self, forward: Forward, batch: Batch) -> dict[str, Total]:
        """Return the totals of `answered`."""
        method, labels = self.method(forward.model), batch['labels']
        output = forward(batch['tokens'], context_of(batch), forward.train, method=method)
        if self.answers is not None:
            output, labels = self._answer_positions(output, labels)
        return answered(self.each_target(output, jnp.maximum(labels, 0), forward.train), labels)

    def _answer_positions(
        self, projection: OutputProjection, labels: Int[Array, 'B T']
    ) -> tuple[OutputProjection | Float[Array, 'B M V'], Int[Array, 'B M']]:
        """Return the outputs and labels of the first M questions of each row, filled up with other positions."""
        asked = labels != IGNORED
        at = jnp.argsort(~asked, axis=-1, stable=True)[:, : self.answers]
        hidden = jnp.take_along_axis(projection.hidden, at[..., None], axis=-2)
        too_many = asked.sum(axis=-1) > self.answers
        kept = projection.replace(hidden=jnp.where(too_many[:, None, None], jnp.nan, hidden))
        return kept if self.vocabulary_chunk else kept.logits(), jnp.take_along_axis(labels, at, axis=-1)


def answered(scores: TokenScores, labels: Int[Array, 'B T']) -> dict[str, Total]:
    """Return totals over answers: `loss` in nats and `accuracy`; and `solved`, the fraction of fully correct rows."""
    asked, right = labels != IGNORED, scores.best == labels
    rows = asked.any(axis=-1).astype(jnp.float32)
    solved = Total(((~asked | right).all(axis=-1) * rows).sum(), rows.sum())
    return {**over_targets(scores.losses, right, asked.astype(jnp.float32)), 'solved': solved}


def chance(train: Any, validation: Any, vocabulary: int | None, /) -> dict[str, float]:
    """Return metrics of always predicting the most frequent answer of training.

    Args:
        train, validation: splits; only the first 1,000 rows of each are read.
    """
    known, asked = (_answers(split) for split in (train, validation))
    right = asked == np.bincount(known).argmax()
    return {'loss': surprise(known, asked, 1 + int(max(known.max(), asked.max()))), 'accuracy': float(right.mean())}


def _answers(split: Any) -> np.ndarray:
    labels = np.stack([split.rows[row]['labels'] for row in range(min(len(split.rows), _READ))])
    return labels[labels != IGNORED]
