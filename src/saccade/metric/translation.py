# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""BLEU and chrF of texts against their references, computed by sacrebleu, from 0 to 100, with its signature.

    BLEU = 100 min(1, exp(1 - r / h)) (p_1 p_2 p_3 p_4)^(1/4)
    chrF = 100 (1 + β²) P R / (β² P + R)

p_n is the fraction of word n-grams that the reference has, r and h the lengths of references and texts in words; P and
R are precision and recall of character n-grams, means over n. Papineni et al. 2002,
https://aclanthology.org/P02-1040/; Popović 2015, https://aclanthology.org/W15-3049/; Post 2018,
https://arxiv.org/abs/1804.08771: scores are comparable only with the same signature, since it determines the counted
tokens.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from typing import Any, ClassVar

import numpy as np
from sacrebleu import metrics as sacrebleu

from saccade.metric.bootstrap import Sums, of_sums
from saccade.metric.references import References, several
from saccade.types import Metric, UserError

__all__ = ['BLEU', 'ChrF']

TOKENIZERS = tuple(sorted(sacrebleu.BLEU.TOKENIZERS))


@dataclass(frozen=True)
class Signed:
    """Metric of a split with the ends of its 95% interval, and the signature of its computation."""

    value: float
    low: float
    high: float
    signature: str


@dataclass(frozen=True)
class BLEU:
    """BLEU.

    Attributes:
        tokenize: sacrebleu's tokenizer: '13a' for plain text, 'none' for tokenised text.
        lowercase: ignore case.
    """

    tokenize: str = '13a'
    lowercase: bool = False

    reports: ClassVar[tuple[Metric, ...]] = (Metric('bleu', 'highest', 0.0, 100.0),)

    def __post_init__(self) -> None:
        if self.tokenize not in TOKENIZERS:
            raise UserError(f"tokenize: sacrebleu has no '{self.tokenize}'; it has {', '.join(TOKENIZERS)}")

    def __call__(self, texts: Sequence[str], references: References) -> dict[str, Signed]:
        """Return `bleu`.

        Raises:
            UserError: there are no texts.
        """
        # `force` silences sacrebleu's warning on full stops between spaces: tokenised text is intended.
        return {'bleu': _scored(sacrebleu.BLEU(**asdict(self), force=True), texts, references)}


@dataclass(frozen=True)
class ChrF:
    """chrF.

    Attributes:
        characters: length of the longest n-grams of characters.
        words: length of the longest n-grams of words; 2 is chrF++.
        beta: weight of recall relative to precision.
        lowercase: ignore case.
    """

    characters: int = 6
    words: int = 0
    beta: int = 2
    lowercase: bool = False

    reports: ClassVar[tuple[Metric, ...]] = (Metric('chrf', 'highest', 0.0, 100.0),)

    def __call__(self, texts: Sequence[str], references: References) -> dict[str, Signed]:
        """Return `chrf`.

        Raises:
            UserError: there are no texts.
        """
        settings = dict(char_order=self.characters, word_order=self.words, beta=self.beta, lowercase=self.lowercase)
        return {'chrf': _scored(sacrebleu.CHRF(**settings), texts, references)}


def _scored(metric: Any, texts: Sequence[str], references: References) -> Signed:
    """Measure a corpus; the interval resamples sacrebleu's sums per sentence."""
    if not texts:
        raise UserError('there are no texts to measure')
    streams = [*zip_longest(*map(several, references))]  # the first reference of each text, the second, and so on
    statistics = np.array(metric._extract_corpus_statistics(texts, streams))

    def score(sums: Sums) -> np.ndarray:
        return np.apply_along_axis(lambda row: metric._compute_score_from_stats(row.tolist()).score, -1, sums)

    found = of_sums(statistics, score)
    return Signed(found.value, found.low, found.high, str(metric.get_signature()))
