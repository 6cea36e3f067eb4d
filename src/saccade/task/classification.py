# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Classification: predict the class of a text, a pair of texts, an image or another sequence.

    loss = mean over rows of -log p(label | row)

Devlin et al. 2019, "BERT", section 4.1, https://arxiv.org/abs/1810.04805. A text that is too long for one row is split
into several, and classified by the mean of their logits.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from saccade.metric.classification import classified
from saccade.metric.classification import majority as most_frequent
from saccade.ops.masking import row_keys
from saccade.task.base import SCORED, Forward, ReadsHead, by_example, scored, surprise
from saccade.types import (
    IGNORED,
    Augmentation,
    Batch,
    EncoderModel,
    Estimate,
    Metric,
    Params,
    Part,
    Scales,
    Share,
    Total,
    UserError,
)

__all__ = ['Classification', 'majority']


@dataclass(frozen=True)
class PredictedClass:
    """Predicted class. Attributes: probabilities, by the name of the class; the names are distinct."""

    probabilities: dict[str, float]

    @property
    def label(self) -> str:
        """The most probable class, the first of equals."""
        return max(self.probabilities, key=self.probabilities.__getitem__)

    def record(self) -> dict[str, Any]:
        """Return the class, its probability, and the probabilities of all classes."""
        probability = self.probabilities[self.label]
        return {'label': self.label, 'probability': probability, 'probabilities': self.probabilities}

    def lines(self, inputs: Mapping[str, Any]) -> list[str]:
        """Return one line: the class, its probability and the text or texts."""
        return [f'{self.label}  {self.probabilities[self.label]:.3f}  {"  |  ".join(map(str, inputs.values()))}']


@dataclass(frozen=True)
class Classification(ReadsHead):
    """Classification of the rows of a batch.

    Attributes:
        label_smoothing: weight of the uniform distribution in the target distribution, in training.
        augment: random augmentations of the examples, in training, applied in order.
    """

    label_smoothing: Scales[Share] = 0.0
    augment: tuple[Part[Augmentation], ...] = ()

    architecture: ClassVar[str] = 'ForSequenceClassification'
    heads: ClassVar[Mapping[str, tuple[str, ...]]] = {'': ('pooled',)}
    reads: ClassVar[tuple[str, ...]] = ('segments', 'positions', 'label', 'example')
    reports: ClassVar[tuple[Metric, ...]] = SCORED
    evaluates: ClassVar[tuple[Metric, ...]] = classified.reports
    then: ClassVar[dict[str, str]] = {'classify more': 'launch/predict.py {inputs}'}

    def totals(self, forward: Forward, batch: Batch) -> dict[str, Total]:
        """Return totals over rows: `loss` in nats, and `accuracy`."""
        rows = self._augmented(forward, batch) if forward.train else batch
        logits, labels = self.read(forward, rows), batch['label']
        smoothing, counts = self.label_smoothing if forward.train else 0.0, (labels != IGNORED).astype(jnp.float32)
        totals = scored(logits, jnp.maximum(labels, 0), counts, smoothing)
        if 'other_label' not in rows:
            return totals
        pairs = (labels, rows['share']), (rows['other_label'], 1 - rows['share'])
        one, other = (
            scored(logits, jnp.maximum(label, 0), counts * share * (label != IGNORED), smoothing)['loss']
            for label, share in pairs
        )
        return totals | {'loss': Total(one.total + other.total, one.weight + other.weight)}

    def _augmented(self, forward: Forward, batch: Batch) -> Batch:
        reads = forward.model.reads
        for number, part in enumerate(self.augment):
            augment = part()
            if augment.reads != reads:
                raise UserError(f'task.augment: {part.name} changes {augment.reads}, and the model reads {reads}')
            batch = augment(row_keys(jax.random.fold_in(forward.key, number), batch['example']), batch)
        return batch

    def predict(self, model: EncoderModel, params: Params, batch: Batch) -> dict[str, Array]:
        """Return the logits, the example and the label of each row."""
        logits = self.read(Forward(model, params), batch)
        return {'logits': logits, 'example': batch['example'], 'label': batch['label']}

    def outputs(self, predictions: Mapping[str, np.ndarray], split: Any) -> Iterator[PredictedClass]:
        """Yield the prediction for each example; the split has the names of the classes."""
        logits, _ = by_example(predictions)
        shares = np.exp(logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True))
        names = _distinct(split.names)
        return (PredictedClass(dict(zip(names, each, strict=True))) for each in shares.tolist())

    def evaluate(self, predictions: Mapping[str, np.ndarray], split: Any) -> dict[str, Estimate]:
        """Return metrics over whole examples; the split has the names of the classes."""
        logits, first = by_example(predictions)
        return classified(predictions['label'][first], logits.argmax(axis=-1), split.names)


def _distinct(names: Sequence[str]) -> list[str]:
    """Return the names; a name that several classes share, as "crane" in ImageNet, with the index: "crane (134)"."""
    counts = Counter(names)
    return [f'{name} ({index})' if counts[name] > 1 else name for index, name in enumerate(names)]


def majority(train: Any, validation: Any, vocabulary: int | None, /) -> dict[str, float]:
    """Return metrics of a baseline that knows how frequent each class is in training, and has read no text."""
    predicted = most_frequent(train.answers, len(validation.answers))
    measured = classified(validation.answers, predicted, validation.names)
    loss = surprise(train.answers, validation.answers, len(validation.names))
    return {'loss': loss, **{name: each.value for name, each in measured.items()}}
