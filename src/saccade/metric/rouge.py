# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""ROUGE-1, ROUGE-2 and ROUGE-L of summaries: F1 of the n-grams or words in common with each reference.

    ROUGE-n = 2 P R / (P + R),   P = common n-grams / n-grams of the text,   R = common n-grams / those of the reference
    ROUGE-L: the same for the longest common subsequence of words

Lin 2004, https://aclanthology.org/W04-1013/, equations 1 to 4; F1 as commonly reported: a mean over the texts, from 0
to 1; of several references the best counts for each text (section 2.1). ROUGE-L compares whole texts, not sentence by
sentence.

Words are runs of letters, digits and their combining marks in lower case and normal form C, without stemming. In
English this is the default of the package `rouge-score`, which drops every other script. A Chinese character or a
kana is a word of its own, as Hu et al. 2015 count them, https://arxiv.org/abs/1506.05865. Thai, Lao, Khmer and
Burmese have no spaces between words either, and a run of their letters counts as one word: separate the words with
spaces first.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from saccade.metric.bootstrap import MetricInterval, of_mean
from saccade.metric.references import References, several
from saccade.types import Metric, fraction

__all__ = ['ROUGE']

_KANA_OR_HAN = re.compile(r'([\u3040-\u30ff\uff66-\uff9f\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])')
_JOINERS = '\u200c\u200d'  # occur within words of Persian and of Indic scripts


@dataclass(frozen=True)
class ROUGE:
    """ROUGE-N and ROUGE-L. Attributes: orders, the lengths of the counted n-grams, in words."""

    orders: tuple[int, ...] = (1, 2)

    @property
    def reports(self) -> tuple[Metric, ...]:
        """Declarations of the returned metrics."""
        return *(fraction(f'rouge_{order}') for order in self.orders), fraction('rouge_l')

    def __call__(self, texts: Sequence[str], references: References) -> dict[str, MetricInterval]:
        """Return `rouge_1` and so on, and `rouge_l`.

        Raises:
            UserError: there are no texts.
        """
        pairs = [(words(text), [*map(words, several(right))]) for text, right in zip(texts, references, strict=True)]
        scores = {f'rouge_{order}': partial(shared, order=order) for order in self.orders} | {'rouge_l': in_order}
        return {
            name: of_mean(np.array([max(score(text, one) for one in right) for text, right in pairs], np.float64))
            for name, score in scores.items()
        }


def words(text: str) -> list[str]:
    """Return the words of a text, in order."""
    apart = _KANA_OR_HAN.sub(r' \1 ', unicodedata.normalize('NFC', text.lower()))
    runs = ''.join(
        letter if unicodedata.category(letter)[0] in 'LMN' or letter in _JOINERS else ' ' for letter in apart
    )
    return [run for run in runs.split() if any(map(str.isalnum, run))]


def shared(text: Sequence[str], reference: Sequence[str], order: int) -> float:
    """Return the F1 of the n-grams of two texts; a common n-gram counts as often as both have it."""
    grams, theirs = (Counter(zip(*(side[at:] for at in range(order)), strict=False)) for side in (text, reference))
    return _f1((grams & theirs).total(), grams.total(), theirs.total())


def in_order(text: Sequence[str], reference: Sequence[str]) -> float:
    """Return the F1 of the longest common subsequence of two texts."""
    longest = [0] * (len(reference) + 1)  # by number of words of the reference, for the words of the text so far
    for word in text:
        before = 0
        for at, other in enumerate(reference, start=1):
            before, longest[at] = longest[at], before + 1 if word == other else max(longest[at], longest[at - 1])
    return _f1(longest[-1], len(text), len(reference))


def _f1(common: int, own: int, reference: int) -> float:
    return 2 * common / max(1, own + reference)
