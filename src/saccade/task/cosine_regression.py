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

from jaxtyping import Array

from saccade.metric.bag_of_words import similarities
from saccade.metric.correlation import correlated
from saccade.ops.similarity import cosine
from saccade.task.base import Forward
from saccade.task.regression import Regression
from saccade.task.siamese_base import SEARCH, Siamese
from saccade.types import Batch, EncoderModel, Params, Positive, PRNGKey, Total, UserError

__all__ = ['CosineRegression', 'bag_of_words']


@dataclass(frozen=True)
class CosineRegression(Siamese, Regression):
    """Cosine regression with the head 'pooled', which returns vectors: its `classes` is None.

    Attributes: highest, the value of two texts with the same meaning.
    """

    highest: Positive = 1.0

    heads: ClassVar[Mapping[str, tuple[str, ...]]] = {'': ('pooled',)}
    then: ClassVar[dict[str, str]] = {**SEARCH, **Regression.then}

    def totals(
        self, forward: Forward, model: EncoderModel, params: Params, batch: Batch, key: PRNGKey
    ) -> dict[str, Total]:
        """Return totals over pairs: `loss`, a squared difference of cosines."""
        squares = super().totals(forward, model, params, batch, key)['loss']
        return {'loss': Total(squares.total / self.highest**2, squares.weight)}

    def _predicted(self, forward: Forward, model: EncoderModel, params: Params, batch: Batch, key: PRNGKey) -> Array:
        """Return the predicted value, [B 1]: the cosine times the highest value."""
        vectors = self.vectors(forward, model, params, batch, key)
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
