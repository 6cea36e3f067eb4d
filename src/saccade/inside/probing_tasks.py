# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Probing tasks that need texts without labels: length, swapped words, word content.

Conneau et al. 2018, "What you can cram into a single $&!#* vector", section 2, https://arxiv.org/abs/1805.01070:
SentLen, BShift and WC. A task is made from the training texts, and then labels the texts of any split; words are
sequences of letters, digits and underscores, compared without case.
"""

import itertools
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from saccade.data.uniform import uniform
from saccade.types import UserError

LENGTHS = 6  # classes of length
FREQUENT, CONTENT = 100, 50  # most frequent words, which are left out, and the words that follow them

Labelled = tuple[list[str], list[str]]  # texts and their classes
ProbingTask = Callable[[Sequence[str]], Callable[[Sequence[str]], Labelled]]


def length(train: Sequence[str]) -> Callable[[Sequence[str]], Labelled]:
    """Return the task of the number of words, in up to `LENGTHS` classes of about equal size, named after their
    smallest number.
    """
    counts = [len(_words(text)) for text in train]
    quantiles = {int(np.quantile(counts, part / LENGTHS, method='higher')) for part in range(1, LENGTHS)}
    least = sorted(quantiles | {min(counts)})

    def labelled(texts: Sequence[str]) -> Labelled:
        bins = np.digitize([len(_words(text)) for text in texts], least[1:])
        return list(texts), [str(least[number]) for number in bins]

    return labelled


def swapped(train: Sequence[str]) -> Callable[[Sequence[str]], Labelled]:
    """Return the task of telling texts with two neighbouring words exchanged, half of the texts, from the others.

    Texts without two different neighbouring words are left out. The words are drawn by the index of the text.
    """

    def labelled(texts: Sequence[str]) -> Labelled:
        found = [_swapped(text, index) for index, text in enumerate(texts)]
        kept = [each for each in found if each is not None]
        return [text for text, _ in kept], [label for _, label in kept]

    return labelled


def word(train: Sequence[str]) -> Callable[[Sequence[str]], Labelled]:
    """Return the task of word content: the one word of a text among `CONTENT` words of middle frequency.

    These follow the `FREQUENT` most frequent words of the training texts.

    Texts with none or several of them are left out.
    """
    frequency = Counter(word for text in train for word in _words(text))
    ranked = sorted(frequency, key=lambda word: (-frequency[word], word))
    asked = {*ranked[FREQUENT : FREQUENT + CONTENT]}
    found = [asked.intersection(_words(text)) for text in train]
    known = {word for words in found if len(words) == 1 for word in words}  # the others have no training text

    def labelled(texts: Sequence[str]) -> Labelled:
        found = [(text, asked.intersection(_words(text))) for text in texts]
        kept = [(text, *words) for text, words in found if len(words) == 1 and words <= known]
        return [text for text, _ in kept], [label for _, label in kept]

    return labelled


TASKS: dict[str, ProbingTask] = {task.__name__: task for task in (length, swapped, word)}


def made_from(task: ProbingTask, splits: Mapping[str, Sequence[str]]) -> dict[str, Labelled]:
    """Label the texts of each split with a task fitted to the training texts.

    Raises:
        UserError: no text of a split fits the task.
    """
    labelled = task(splits['train'])
    found = {name: labelled(texts) for name, texts in splits.items()}
    for name, (texts, _) in found.items():
        if not texts:
            raise UserError(
                f'no {name} text fits the task {task.__name__!r}, of {len(splits[name]):,}: more texts are needed'
            )
    return found


def _words(text: str) -> list[str]:
    return re.findall(r'\w+', text.lower())


def _swapped(text: str, index: int) -> tuple[str, str] | None:
    """Return a text, with two neighbours exchanged if its index is odd, and its class."""
    parts = text.split()
    places = [place for place, (one, other) in enumerate(itertools.pairwise(parts)) if one != other]
    if not places:
        return None
    if index % 2 == 0:
        return ' '.join(parts), 'original'
    place = places[int(uniform(0, row=index)() * len(places))]
    parts[place : place + 2] = parts[place + 1], parts[place]
    return ' '.join(parts), 'swapped'
