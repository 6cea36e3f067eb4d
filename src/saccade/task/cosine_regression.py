# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Cosine regression: learn sentence vectors u, v whose cosine predicts the similarity of two texts.

    loss = mean over pairs of (cos(u, v) - value / highest)²

Reimers and Gurevych 2019, "Sentence-BERT", section 3, "Regression Objective Function",
https://arxiv.org/abs/1908.10084. The cosine is between -1 and 1, so values are divided by the highest: 5 in the STS
benchmark (Cer et al. 2017, https://aclanthology.org/S17-2001/).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from jaxtyping import Array, Float

from saccade.metric.bag_of_words import similarities
from saccade.metric.correlation import correlated
from saccade.ops.similarity import cosine
from saccade.task.base import Forward
from saccade.task.regression import Regression, squared_error
from saccade.task.siamese_base import SEARCH, Siamese
from saccade.types import Batch, Positive, Total, UserError

__all__ = ['CosineRegression', 'bag_of_words']


@dataclass(frozen=True)
class CosineRegression(Siamese, Regression):
    """Cosine regression with the head 'pooled', which returns vectors: its `classes` is None.

    Attributes: highest, the value of two texts with the same meaning.
    """

    highest: Positive = 1.0

    heads: ClassVar[Mapping[str, tuple[str, ...]]] = {'': ('pooled',)}
    then: ClassVar[dict[str, str]] = {**SEARCH, **Regression.then}

    def totals(self, forward: Forward, batch: Batch) -> dict[str, Total]:
        """Return totals over pairs: `loss`, a squared difference of cosines."""
        squares = squared_error(self.predicted(forward, batch), batch['value'])
        return {'loss': Total(squares.total / self.highest**2, squares.weight)}

    def predicted(self, forward: Forward, batch: Batch) -> Float[Array, 'B 1']:
        """Return the predicted value: the cosine times the highest value.

        Raises:
            UserError: examples do not have two texts.
        """
        vectors = self.vectors(forward, batch)
        if vectors.shape[1] != 2:
            raise UserError(f'config.data: a cosine needs 2 texts, not {vectors.shape[1]}')
        return self.highest * cosine(vectors[:, 0], vectors[:, 1])[:, None]


def bag_of_words(train: Any, validation: Any, vocabulary: int, /, highest: float = 1.0) -> dict[str, float]:
    """Return metrics of a baseline that compares texts by the tokens they have in common.

    Args:
        highest: as in the task.
    """
    predicted = highest * similarities(*validation.rows.texts, vocabulary)
    measured = {name: each.value for name, each in correlated(validation.answers, predicted).items()}
    return {'loss': measured['mean_squared_error'] / highest**2, **measured}
