# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Text classification: predict the class of a text, or of a pair of texts.

    loss = mean over rows of -log p(label | row)

Devlin et al. 2019, "BERT", section 4.1, https://arxiv.org/abs/1810.04805. A text that is too long for a row is several
rows; it is of the class that the mean of their logits says.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from saccade.metric.classification import classified
from saccade.metric.classification import majority as most_frequent
from saccade.task.base import Forward, ReadsHead, by_example, scored, surprise
from saccade.types import IGNORED, Batch, EncoderModel, Estimate, Params, PRNGKey, Share, Total, require_share


@dataclass(frozen=True)
class PredictedClass:
    """Predicted class. Attributes: the probability of each class, by its name."""

    probabilities: dict[str, float]

    @property
    def label(self) -> str:
        """The most probable class; of equal ones, the one that comes first."""
        return max(self.probabilities, key=self.probabilities.__getitem__)

    def record(self) -> dict[str, Any]:
        """The class, its probability, and those of all."""
        probability = self.probabilities[self.label]
        return {'label': self.label, 'probability': probability, 'probabilities': self.probabilities}

    def lines(self, inputs: Mapping[str, Any]) -> list[str]:
        """The class and its probability before the text, or before both."""
        return [f'{self.label}  {self.probabilities[self.label]:.3f}  {"  |  ".join(inputs.values())}']


@dataclass(frozen=True)
class Classification(ReadsHead):
    """Text classification.

    Attributes: label_smoothing, the share of the target distribution that is uniform, in training.
    """

    label_smoothing: Share = 0.0

    heads: ClassVar[Mapping[str, tuple[str, ...]]] = {'': ('pooled',)}
    reads: ClassVar[tuple[str, ...]] = ('segments', 'positions', 'label', 'example')
    then: ClassVar[dict[str, str]] = {'classify texts': 'launch/predict.py {inputs}'}

    def __post_init__(self) -> None:
        require_share('task', label_smoothing=self.label_smoothing)

    def totals(
        self, forward: Forward, model: EncoderModel, params: Params, batch: Batch, key: PRNGKey
    ) -> dict[str, Total]:
        """Return totals over rows: `loss` in nats, and `accuracy`."""
        logits, labels = self.read(forward, model, params, batch, key), batch['label']
        counts = (labels != IGNORED).astype(jnp.float32)
        return scored(logits, jnp.maximum(labels, 0), counts, self.label_smoothing if forward.train else 0.0)

    def predict(self, model: EncoderModel, params: Params, batch: Batch) -> dict[str, Array]:
        """Return the logits of each row, its example and its label."""
        logits = self.read(Forward(train=False), model, params, batch, jax.random.key(0))
        return {'logits': logits, 'example': batch['example'], 'label': batch['label']}

    def outputs(self, predictions: Mapping[str, np.ndarray], split: Any) -> Iterator[PredictedClass]:
        """Yield what is predicted of each example; the split has the names of the classes."""
        logits, _ = by_example(predictions)
        shares = np.exp(logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True))
        return (PredictedClass(dict(zip(split.names, each, strict=True))) for each in shares.tolist())

    def judge(self, predictions: Mapping[str, np.ndarray], split: Any) -> dict[str, Estimate]:
        """Return what is measured of whole examples; the split has the names of the classes."""
        logits, first = by_example(predictions)
        return classified(predictions['label'][first], logits.argmax(axis=-1), split.names)


def majority(train: Any, validation: Any, vocabulary: int) -> dict[str, float]:
    """Return metrics of a baseline that knows how frequent each class is in training, and has read no text."""
    predicted = most_frequent(train.answers, len(validation.answers))
    measured = classified(validation.answers, predicted, validation.names)
    loss = surprise(train.answers, validation.answers, len(validation.names))
    return {'loss': loss, **{name: each.value for name, each in measured.items()}}
