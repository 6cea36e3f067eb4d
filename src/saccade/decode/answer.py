# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A question and a text in, an answer out: a trained encoder reads the text window by window."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from saccade.data.pipeline import eval_batches
from saccade.data.questions import Questions
from saccade.data.tokenizer import Tokenizer
from saccade.decode.predict import predictions
from saccade.types import Data, Judge, Model, Params, Part, Task, UserError

ROWS = 8  # windows that are read at once, whatever the text, so that all texts are read by one program


@runtime_checkable
class Found(Protocol):
    """An answer, as `task.span_qa:Found` has it."""

    text: str
    start: int
    stop: int
    score: float
    null_score: float


@runtime_checkable
class Answering(Judge, Protocol):
    """A task whose predictions are answers to questions."""

    def answers(self, predictions: Mapping[str, Any], split: Any) -> Iterator[Found]:
        """Answer each question of a split."""
        ...


@dataclass(frozen=True, eq=False)
class Reader:
    """A model that answers questions about texts.

    Attributes:
        task, data: those that it was trained by; the data says how a text is cut into windows.

    Raises:
        UserError: it was trained to do something else.
    """

    task: Task
    data: Data
    model: Model
    params: Params
    tokenizer: Tokenizer

    def __post_init__(self) -> None:
        if not isinstance(self.task, Answering) or not isinstance(self.data, Questions):
            name = Part(type(self.task)).name
            raise UserError(f'a run of {name} answers no questions; experiments/finetune/answer.py makes one that does')

    def read(self, question: str, context: str) -> Found:
        """Answer a question about a context.

        Raises:
            UserError: the tokenizer cannot encode a character, or the context is empty to it.
        """
        split = self.data.asking(question, context, self.tokenizer)
        if not split.rows.windows.lengths.any():
            raise UserError('the context has no word, so there is nothing to answer with')
        found = predictions(self.task, self.model, self.params, eval_batches(split, ROWS))
        (answer,) = self.task.answers(found, split)
        return answer


def record(found: Found) -> dict[str, str | int | float]:
    """An answer as one JSON object: `answer` is empty where there is none; start and stop are characters."""
    fields = ('start', 'stop', 'score', 'null_score')
    return {'answer': found.text, **{name: getattr(found, name) for name in fields}}


def lines(found: Found) -> list[str]:
    """An answer in words: what it is, where it stands, and how sure the model is of it."""
    place = f'characters {found.start} to {found.stop}' if found.text else 'nowhere in the text'
    return [
        f'{"answer":10s}{found.text or "none"}',
        f'{"place":10s}{place}',
        f'{"score":10s}{_nats(found.score)}; no answer: {_nats(found.null_score)}',
    ]


def _nats(score: float) -> str:
    return f'{score:.3f} nats ({math.exp(score):.1%})'
