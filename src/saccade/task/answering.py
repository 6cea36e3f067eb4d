# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Answering: predict, at each token at which the data ask something, the token that is the answer.

    loss = mean over the tokens that have a label of -log p(label | tokens up to it)

So diagnostics measure what a mixer can do (Arora et al. 2023, "Zoology", https://arxiv.org/abs/2312.04927): an answer
is not among the tokens, and tokens that nobody could predict are not learned.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np

from saccade.task.base import Forward, PredictsTokens, context_of, over_targets, surprise
from saccade.types import IGNORED, Batch, LanguageModel, Params, PRNGKey, Total

_READ = 1000  # rows that a baseline reads of a split


@dataclass(frozen=True)
class Answering(PredictsTokens):
    """Answering. Attributes: those of every task of tokens (`task.base`)."""

    trains: ClassVar[tuple[type, str]] = (LanguageModel, 'a decoder')
    reads: ClassVar[tuple[str, ...]] = ('tokens', 'labels', 'segments', 'positions')

    def inputs(self, model: LanguageModel, key: PRNGKey, batch: Batch) -> tuple[Any, ...]:
        """Return the arguments of the model's `init`, after the key."""
        return batch['tokens'], context_of(batch), False

    def totals(
        self, forward: Forward, model: LanguageModel, params: Params, batch: Batch, key: PRNGKey
    ) -> dict[str, Total]:
        """Return totals: `loss` in nats and `accuracy` over answers, and `solved`, the rows of right answers alone."""
        output = self.project(forward, model, params, batch['tokens'], context_of(batch), forward.train, key=key)
        labels = batch['labels']
        asked = labels != IGNORED
        scores = self.each_target(output, jnp.maximum(labels, 0), forward.train)
        totals = over_targets(scores.losses, scores.best == labels, asked.astype(jnp.float32))
        right = (~asked | (scores.best == labels)).all(axis=-1)
        rows = asked.any(axis=-1).astype(jnp.float32)
        return {**totals, 'solved': Total((right * rows).sum(), rows.sum())}


def chance(train: Any, validation: Any, vocabulary: int | None) -> dict[str, float]:
    """Return metrics of who reads nothing, and says the most frequent answer of training each time.

    Args:
        train, validation: splits; of each its first 1,000 rows are read.
    """
    known, asked = (_answers(split) for split in (train, validation))
    right = asked == np.bincount(known).argmax()
    return {'loss': surprise(known, asked, 1 + int(max(known.max(), asked.max()))), 'accuracy': float(right.mean())}


def _answers(split: Any) -> np.ndarray:
    labels = np.stack([split.rows[row]['labels'] for row in range(min(len(split.rows), _READ))])
    return labels[labels != IGNORED]
