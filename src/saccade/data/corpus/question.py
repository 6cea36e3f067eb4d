# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Question answered by a span of its context (SQuAD), and its stored features.

P. Rajpurkar et al., 2016, SQuAD, https://arxiv.org/abs/1606.05250. A question without answers is unanswerable from its
context: P. Rajpurkar et al., 2018, Know what you don't know, https://arxiv.org/abs/1806.03822
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from saccade.types import UserError


class Answer(NamedTuple):
    """Answer: a span of the context, given by its text and its start in characters."""

    text: str
    start: int


@dataclass(frozen=True)
class Question:
    """Question about a context.

    Attributes: id, unique; title of the context's article; answers, all true answers.
    """

    id: str
    title: str
    question: str
    context: str
    answers: tuple[Answer, ...]

    def __post_init__(self) -> None:
        for text, start in self.answers:
            found = self.context[start : start + len(text)] if start >= 0 else ''
            if found != text or not text.strip():
                raise UserError(
                    f'question {self.id}: its answer {text!r} is not at character {start} of its context, '
                    f'where there is {found!r}'
                )


def features() -> 'tensorflow_datasets.features.FeaturesDict':
    """Return the TFDS features of a question, as in its `squad`."""
    import tensorflow_datasets as tfds

    names = dict.fromkeys(('id', 'title', 'question', 'context'), tfds.features.Text())
    answers = {'text': tfds.features.Text(), 'answer_start': tfds.features.Scalar(np.int32)}
    return tfds.features.FeaturesDict({**names, 'answers': tfds.features.Sequence(answers)})
