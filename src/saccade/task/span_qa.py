# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Extractive question answering: predict the start and the stop of the answer to a question within its context.

    loss = - mean over the rows of (log p(first token | row) + log p(last token | row)) / 2
    answer = the span i..j of the highest  log p(i) + log p(j)  over all windows on the context

Devlin et al. 2019, "BERT", sections 4.2 and 4.3, https://arxiv.org/abs/1810.04805. The target of a window without the
answer is the first token, [CLS]. Differences: p is over the window and [CLS] here, in BERT also over question,
separators and padding;
spans of several windows are compared by log p here, in BERT by logits, which have no common scale.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from einops import rearrange
from jaxtyping import Array, Bool, Float

from saccade.metric.answer import answered
from saccade.ops.span import best_spans
from saccade.task.base import ACCURACY, LOSS, Forward, ReadsHead, scored
from saccade.types import (
    Batch,
    Count,
    EncoderModel,
    Estimate,
    Metric,
    Params,
    Total,
    UserError,
)

__all__ = ['SpanQA', 'most_frequent']

ENDS = ('start', 'stop')


@dataclass(frozen=True)
class PredictedAnswer:
    """Predicted answer to a question.

    Attributes:
        example: index of the question in its split.
        text: the answer, from the context; empty if there is none.
        start, stop: character offsets of the answer in the context; stop is exclusive.
        score: log p of the best span, in nats.
        null_score: log p of no answer, in nats, in the window where it is lowest.
    """

    example: int
    text: str
    start: int
    stop: int
    score: float
    null_score: float

    def record(self) -> dict[str, Any]:
        """Return the answer (empty for none), its offsets and the scores."""
        fields = ('start', 'stop', 'score', 'null_score')
        return {'answer': self.text, **{name: getattr(self, name) for name in fields}}

    def lines(self, inputs: Mapping[str, Any]) -> list[str]:
        """Return lines with the question, its answer, the offsets of the answer, and the scores."""
        place = f'characters {self.start} to {self.stop}' if self.text else 'nowhere in the context'
        return [
            f'{"question":10s}{inputs["question"]}',
            f'{"answer":10s}{self.text or "none"}',
            f'{"place":10s}{place}',
            f'{"score":10s}{_nats(self.score)}; no answer: {_nats(self.null_score)}',
        ]


@dataclass(frozen=True)
class SpanQA(ReadsHead):
    """Extractive question answering with a head that scores each token as start and as stop.

    Attributes:
        longest: maximum length of an answer, in tokens.
        null: threshold in nats: the best span is the answer if its score minus the null score is above it; None always
            answers.
    """

    longest: Count = 30
    null: float | None = None

    architecture: ClassVar[str] = 'ForQuestionAnswering'
    heads: ClassVar[Mapping[str, tuple[str, ...]]] = {'': ('tokens',)}
    reads: ClassVar[tuple[str, ...]] = ('segments', 'positions', 'window', 'start', 'stop', 'example')
    reports: ClassVar[tuple[Metric, ...]] = (LOSS, *(ACCURACY.prefixed(end) for end in ENDS))
    evaluates: ClassVar[tuple[Metric, ...]] = answered.reports
    then: ClassVar[dict[str, str]] = {'answer': 'launch/predict.py {inputs}'}

    def totals(self, forward: Forward, batch: Batch) -> dict[str, Total]:
        """Return totals over rows: `loss` in nats, `start_accuracy` and `stop_accuracy`."""
        logits = self._logits(forward, batch)
        counts = (batch['example'] >= 0).astype(jnp.float32)
        found = {name: scored(logits[name], batch[name], counts) for name in ENDS}
        total = sum(each['loss'].total for each in found.values()) / len(ENDS)
        accuracies = {f'{name}_accuracy': each['accuracy'] for name, each in found.items()}
        return {'loss': Total(total, counts.sum()), **accuracies}

    def predict(self, model: EncoderModel, params: Params, batch: Batch) -> dict[str, Array]:
        """Return the logits of the answer's start and stop, -inf outside the window and the first token."""
        return self._logits(Forward(model, params), batch)

    def evaluate(self, predictions: Mapping[str, Any], split: Any) -> dict[str, Estimate]:
        """Return `exact_match` and `f1` over the questions with predicted rows.

        Args:
            split: has `examples`, the question of each row; `gold`, answers of a question; `place` and `text` of a
                span.
        """
        found = list(self.outputs(predictions, split))
        return answered([split.gold(each.example) for each in found], [each.text for each in found])

    def outputs(self, predictions: Mapping[str, Any], split: Any) -> Iterator[PredictedAnswer]:
        """Yield the answer to each question with predicted rows."""
        examples = split.examples[: len(predictions['start'])]
        start, stop = (_log_p(predictions[name][: len(examples)]) for name in ENDS)
        first, last, score = best_spans(start[:, 1:], stop[:, 1:], self.longest)
        order = np.lexsort((-score, examples))
        asked, best = np.unique(examples[order], return_index=True)
        null_scores = np.minimum.reduceat((start[:, 0] + stop[:, 0])[order], best)
        for example, row, null_score in zip(asked.tolist(), order[best].tolist(), null_scores.tolist(), strict=True):
            span, scores = (row, int(first[row]) + 1, int(last[row]) + 1), (float(score[row]), null_score)
            answer = (split.text(*span), *split.place(*span)) if self._answered(*scores) else ('', 0, 0)
            yield PredictedAnswer(example, *answer, *scores)

    def _answered(self, score: float, null_score: float) -> bool:
        """True if the best span is the answer; a context without tokens has none."""
        return score > (-math.inf if self.null is None else null_score + self.null)

    def _logits(self, forward: Forward, batch: Batch) -> dict[str, Float[Array, 'B T']]:
        # Image positions precede the positions of the row's text.
        scores = self.read(forward, batch)[:, -batch['window'].shape[-1] :]
        if scores.shape[-1] != len(ENDS):
            raise UserError(
                f"task.span_qa:SpanQA reads starts and stops: the head 'tokens' needs classes=2, not {scores.shape[-1]}"
            )
        logits = jnp.where(places(batch)[..., None], scores.astype(jnp.float32), -jnp.inf)
        return dict(zip(ENDS, rearrange(logits, 'B T ends -> ends B T'), strict=True))


def most_frequent(train: Any, validation: Any, vocabulary: int | None, /) -> dict[str, float]:
    """Return metrics of a baseline that gives the most frequent answer of training, and has read nothing."""
    golds, known = (
        [split.gold(number) for number in np.unique(split.examples).tolist()] for split in (validation, train)
    )
    ((answer, _),) = Counter(gold[0] if gold else '' for gold in known).most_common(1)
    return {name: each.value for name, each in answered(golds, [answer] * len(golds)).items()}


def places(batch: Batch) -> Bool[Array, 'B T']:
    """Return True where an answer may start and stop: in the window of the context, and at the first token."""
    return (batch['window'] == 1).at[:, 0].set(True)


def _log_p(logits: Float[np.ndarray, 'R T']) -> Float[np.ndarray, 'R T']:
    return logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)


def _nats(score: float) -> str:
    return f'{score:z.3f} nats ({math.exp(score):.1%})'
