# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Token classification (tagging): predict the class of each word or each token.

    loss = mean over the tokens that have a label of -log p(label | row)

Devlin et al. 2019, "BERT", section 5.3, https://arxiv.org/abs/1810.04805, where the first piece of a word has the
word's label. The dataset sets the labelled tokens, and labels each word in one row only.
"""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from saccade.metric.entity import entities, tagged
from saccade.task.base import SCORED, Forward, ReadsHead, scored, surprise
from saccade.types import IGNORED, Batch, EncoderModel, Estimate, Metric, Params, Part, Total

__all__ = ['Tagging', 'majority']


@dataclass(frozen=True)
class PredictedTags:
    """Predicted tags. Attributes: the words of a sentence, and their tags."""

    words: list[str]
    tags: list[str]

    def record(self) -> dict[str, Any]:
        """Return words, tags and, for BIO tags, the entities with their word offsets (stop is exclusive)."""
        return {'words': self.words, 'tags': self.tags, 'entities': list(self._entities())}

    def lines(self, inputs: Mapping[str, Any]) -> list[str]:
        """Return the words with their tags, as in the Brown corpus, followed by a line for each entity."""
        tagged = ' '.join(f'{word}/{tag}' for word, tag in zip(self.words, self.tags, strict=True))
        return [tagged, *(f'  {each["type"]:6s}  {each["text"]}' for each in self._entities())]

    def _entities(self) -> Iterator[dict[str, Any]]:
        if all(tag == 'O' or tag.startswith(('B-', 'I-')) for tag in self.tags):
            for kind, start, stop in entities(self.tags):
                yield {'type': kind, 'text': ' '.join(self.words[start:stop]), 'start': start, 'stop': stop}


@dataclass(frozen=True)
class Tagging(ReadsHead):
    """Token classification.

    Attributes: measure, a metric of true and predicted tags of whole sentences, as `metric.entity:tagged`.
    """

    measure: Part = Part(tagged)  # noqa: RUF009, it is frozen

    architecture: ClassVar[str] = 'ForTokenClassification'
    heads: ClassVar[Mapping[str, tuple[str, ...]]] = {'': ('tokens',)}
    reads: ClassVar[tuple[str, ...]] = ('segments', 'positions', 'labels', 'example')
    reports: ClassVar[tuple[Metric, ...]] = SCORED
    then: ClassVar[dict[str, str]] = {'tag words': 'launch/predict.py {inputs}'}

    @property
    def evaluates(self) -> tuple[Metric, ...]:
        """Declarations of the metrics of `measure`."""
        return getattr(self.measure.target, 'reports', ())

    def totals(self, forward: Forward, batch: Batch) -> dict[str, Total]:
        """Return totals over the tokens that have a label: `loss` in nats, and `accuracy`."""
        logits, labels = self.read(forward, batch), batch['labels']
        return scored(logits, jnp.maximum(labels, 0), (labels != IGNORED).astype(jnp.float32))

    def predict(self, model: EncoderModel, params: Params, batch: Batch) -> dict[str, Array]:
        """Return the most probable tag and the label of each token, and the example of each row."""
        logits = self.read(Forward(model, params), batch)
        return {'tags': jnp.argmax(logits, axis=-1), 'labels': batch['labels'], 'example': batch['example']}

    def outputs(self, predictions: Mapping[str, np.ndarray], split: Any) -> Iterator[PredictedTags]:
        """Yield the tags of each sentence, one for each of the split's `words`."""
        tags = iter(predictions['tags'][predictions['labels'] != IGNORED].tolist())
        for words in split.words:
            yield PredictedTags(list(words), [split.names[tag] for tag in itertools.islice(tags, len(words))])

    def evaluate(self, predictions: Mapping[str, np.ndarray], split: Any) -> dict[str, Estimate]:
        """Return metrics over whole sentences; the split has the names of the tags."""
        labels, tags = predictions['labels'], predictions['tags']
        here = labels != IGNORED
        example = np.repeat(predictions['example'], here.sum(axis=-1))
        starts = np.flatnonzero(np.diff(example)) + 1
        gold, predicted = (np.split(each[here], starts) for each in (labels, tags))
        return self.measure(_named(gold, split.names), _named(predicted, split.names))


def majority(train: Any, validation: Any, vocabulary: int | None, /, measure: Part) -> dict[str, float]:
    """Return metrics of a baseline that says of every word what is most frequent in training."""
    known, gold = np.concatenate(train.sentences()), validation.sentences()
    predicted = [np.full_like(tags, np.bincount(known).argmax()) for tags in gold]
    measured = measure(_named(gold, validation.names), _named(predicted, validation.names))
    loss = surprise(known, np.concatenate(gold), len(validation.names))
    return {'loss': loss, **{name: each.value for name, each in measured.items()}}


def _named(sentences: list[np.ndarray], names: tuple[str, ...]) -> list[list[str]]:
    return [[names[tag] for tag in tags] for tags in sentences]
