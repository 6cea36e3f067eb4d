# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""SQuAD metrics of predicted answers: exact match, and F1 of the words in common with the true answer.

Case, ASCII punctuation, articles and white space are ignored. Of several true answers, the closest counts.
P. Rajpurkar et al., 2016, SQuAD, section 6.1, https://arxiv.org/abs/1606.05250. For a question without a true answer,
only the empty prediction is right: P. Rajpurkar et al., 2018, Know what you don't know,
https://arxiv.org/abs/1806.03822. Both metrics are fractions here; SQuAD's own evaluation prints percentages.

The two versions of SQuAD's evaluation differ only in answers that are empty after normalisation, such as "A" or "?".
Ours is version 2.0: such a true answer is dropped, a question left with none has no answer, and two empty answers have
F1 1. Version 1.1 keeps it as an empty text, with exact match 1 and F1 0. Words are separated by white space, so an
answer in Chinese, Japanese or Thai is usually one word, and its F1 is its exact match.
"""

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from saccade.metric.bootstrap import MetricInterval, of_mean
from saccade.types import declares, fraction

_ARTICLES = re.compile(r'\b(a|an|the)\b')
_NO_PUNCTUATION = str.maketrans('', '', string.punctuation)


@declares(fraction('exact_match'), fraction('f1'))
def answered(gold: Sequence[Sequence[str]], predicted: Sequence[str]) -> dict[str, MetricInterval]:
    """Return `exact_match` and `f1`.

    Args:
        gold: true answers of each question; answers that are empty after normalisation are ignored.

    Raises:
        UserError: there are no questions.
    """
    scores = {'exact_match': exact_match, 'f1': f1}
    return {
        name: of_mean(np.array([score(*pair) for pair in zip(gold, predicted, strict=True)], np.float64))
        for name, score in scores.items()
    }


def exact_match(gold: Sequence[str], predicted: str) -> float:
    """Return 1 if the answer is one of the true ones, else 0."""
    return _nearest(lambda true, answer: float(true == answer), gold, predicted)


def f1(gold: Sequence[str], predicted: str) -> float:
    """Return the F1 of the answer's words against the words of the closest true answer."""
    return _nearest(_word_f1, gold, predicted)


def normalised(text: str) -> str:
    """Return the text in lower case, without punctuation and articles, with single spaces."""
    return ' '.join(_ARTICLES.sub(' ', text.lower().translate(_NO_PUNCTUATION)).split())


def _nearest(score: Callable[[str, str], float], gold: Sequence[str], predicted: str) -> float:
    answer, answers = normalised(predicted), filter(None, map(normalised, gold))
    return max((score(true, answer) for true in answers), default=float(not answer))


def _word_f1(true: str, answer: str) -> float:
    words, guessed = Counter(true.split()), Counter(answer.split())
    return 2 * (words & guessed).total() / (words.total() + guessed.total())
