# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Extractive question answering: predict where in its context the answer to a question starts, and where it stops.

    loss = - mean over the rows of (log p(first token | row) + log p(last token | row)) / 2
    answer = the span i..j of the highest  log p(i) + log p(j)  over all windows on the context

Devlin et al. 2019, "BERT", sections 4.2 and 4.3, https://arxiv.org/abs/1810.04805. The target of a window without the
answer is [CLS]. Here p is over the window and [CLS], there over question, separators and padding too; and spans of
several windows are compared by log p, there by logits, which are not of one scale.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
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
    PRNGKey,
    Total,
    UserError,
)

__all__ = ['SpanQA', 'most_frequent']

ENDS = ('start', 'stop')


@dataclass(frozen=True)
class Found:
    """Predicted answer to a question.

    Attributes:
        example: the question's number in its split.
        text: of the context; empty where no answer is found.
        start, stop: where that stands, in characters, from and to.
        score: log p of the best span, in nats.
        null_score: log p of no answer, in nats, in the window that is least sure of it.
    """

    example: int
    text: str
    start: int
    stop: int
    score: float
    null_score: float

    def record(self) -> dict[str, Any]:
        """The answer, which is empty where there is none, with its place and the scores."""
        fields = ('start', 'stop', 'score', 'null_score')
        return {'answer': self.text, **{name: getattr(self, name) for name in fields}}

    def lines(self, inputs: Mapping[str, Any]) -> list[str]:
        """The question, its answer, where that stands, and how sure the model is of it."""
        place = f'characters {self.start} to {self.stop}' if self.text else 'nowhere in the context'
        return [
            f'{"question":10s}{inputs["question"]}',
            f'{"answer":10s}{self.text or "none"}',
            f'{"place":10s}{place}',
            f'{"score":10s}{_nats(self.score)}; no answer: {_nats(self.null_score)}',
        ]


@dataclass(frozen=True)
class SpanQA(ReadsHead):
    """Extractive question answering by a head that scores each token as start and as stop.

    Attributes:
        longest: tokens of an answer at most.
        null: a question is answered where the score of its best span is more than this above the null score, in nats;
            None: always.
    """

    longest: Count = 30
    null: float | None = None

    architecture: ClassVar[str] = 'ForQuestionAnswering'
    heads: ClassVar[Mapping[str, tuple[str, ...]]] = {'': ('tokens',)}
    reads: ClassVar[tuple[str, ...]] = ('segments', 'positions', 'types', 'start', 'stop', 'example')
    reports: ClassVar[tuple[Metric, ...]] = (LOSS, *(ACCURACY.prefixed(end) for end in ENDS))
    evaluates: ClassVar[tuple[Metric, ...]] = answered.reports
    then: ClassVar[dict[str, str]] = {'answer': 'launch/predict.py {inputs}'}

    def totals(
        self, forward: Forward, model: EncoderModel, params: Params, batch: Batch, key: PRNGKey
    ) -> dict[str, Total]:
        """Return totals over rows: `loss` in nats, `start_accuracy` and `stop_accuracy`."""
        logits = self._logits(forward, model, params, batch, key)
        counts = (batch['example'] >= 0).astype(jnp.float32)
        found = {name: scored(logits[name], batch[name], counts) for name in ENDS}
        total = sum(each['loss'].total for each in found.values()) / len(ENDS)
        accuracies = {f'{name}_accuracy': each['accuracy'] for name, each in found.items()}
        return {'loss': Total(total, counts.sum()), **accuracies}

    def predict(self, model: EncoderModel, params: Params, batch: Batch) -> dict[str, Array]:
        """Return the logits of where the answer starts and stops, -inf where it cannot."""
        return self._logits(Forward(train=False), model, params, batch, jax.random.key(0))

    def judge(self, predictions: Mapping[str, Any], split: Any) -> dict[str, Estimate]:
        """Return `exact_match` and `f1` of the questions of which rows were predicted.

        Args:
            split: has `examples`, the question of each row; and of a question `gold`, of a span `place` and `text`.
        """
        found = list(self.outputs(predictions, split))
        return answered([split.gold(each.example) for each in found], [each.text for each in found])

    def outputs(self, predictions: Mapping[str, Any], split: Any) -> Iterator[Found]:
        """Answer each question of which rows were predicted."""
        examples = split.examples[: len(predictions['start'])]
        start, stop = (_log_p(predictions[name][: len(examples)]) for name in ENDS)
        first, last, score = best_spans(start[:, 1:], stop[:, 1:], self.longest)
        order = np.lexsort((-score, examples))
        asked, best = np.unique(examples[order], return_index=True)
        null_scores = np.minimum.reduceat((start[:, 0] + stop[:, 0])[order], best)
        for example, row, null_score in zip(asked.tolist(), order[best].tolist(), null_scores.tolist(), strict=True):
            span, scores = (row, int(first[row]) + 1, int(last[row]) + 1), (float(score[row]), null_score)
            answer = (split.text(*span), *split.place(*span)) if self._answered(*scores) else ('', 0, 0)
            yield Found(example, *answer, *scores)

    def _answered(self, score: float, null_score: float) -> bool:
        """Whether a span is the answer; where the context has no token, there is none."""
        return score > (-math.inf if self.null is None else null_score + self.null)

    def _logits(
        self, forward: Forward, model: EncoderModel, params: Params, batch: Batch, key: PRNGKey
    ) -> dict[str, Float[Array, 'B T']]:
        # An image has its places before those of the row.
        scores = self.read(forward, model, params, batch, key)[:, -batch['types'].shape[-1] :]
        if scores.shape[-1] != len(ENDS):
            raise UserError(
                f"task.span_qa:SpanQA reads starts and stops: the head 'tokens' needs classes=2, not {scores.shape[-1]}"
            )
        logits = jnp.where(places(batch)[..., None], scores.astype(jnp.float32), -jnp.inf)
        return dict(zip(ENDS, rearrange(logits, 'B T ends -> ends B T'), strict=True))


def most_frequent(train: Any, validation: Any, vocabulary: int, /) -> dict[str, float]:
    """Return metrics of a baseline that gives the most frequent answer of training, and has read nothing."""
    golds, known = (
        [split.gold(number) for number in np.unique(split.examples).tolist()] for split in (validation, train)
    )
    ((answer, _),) = Counter(gold[0] if gold else '' for gold in known).most_common(1)
    return {name: each.value for name, each in answered(golds, [answer] * len(golds)).items()}


def places(batch: Batch) -> Bool[Array, 'B T']:
    """Where an answer may start and stop: at [CLS], and in the second text less the [SEP] that closes it."""
    second = batch['types'] == 1
    inside = second & jnp.pad(second[:, 1:], ((0, 0), (0, 1)))
    return inside.at[:, 0].set(True)


def _log_p(logits: Float[np.ndarray, 'R T']) -> Float[np.ndarray, 'R T']:
    return logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)


def _nats(score: float) -> str:
    return f'{score:z.3f} nats ({math.exp(score):.1%})'
