# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Skip-gram text: each word with its frequency, and noise words for each row.

    p_noise(w) = count(w)^power / sum over w' of count(w')^power

Mikolov et al. 2013, "Distributed Representations of Words and Phrases and their Compositionality", section 2.2,
https://arxiv.org/abs/1310.4546. The original program samples noise from a long precomputed table; here each row has its
own draw from the distribution. Special and unknown tokens, and padding, are not words.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import numpy as np
from jaxtyping import Float

from saccade.data.corpus.corpus import Corpus
from saccade.data.dataset_base import BySplit
from saccade.data.split import Row, RowSource, Split
from saccade.data.text.stream import TextData, TextSplit
from saccade.data.tokenizer.tokenizer import Tokenizer
from saccade.types import Count, Metric, UserError

__all__ = ['SkipGramText']

_HIGHEST = 2.0**64  # exclusive bound of Philox's raw numbers


@dataclass(frozen=True)
class SkipGramText(TextData):
    """Text for skip-grams.

    Attributes: as in TextData; noise, number of noise words per row; power, exponent of the counts in their
        distribution.

    In addition to text's arrays, a batch has `frequency` [B T+1], each word's relative frequency in the training split,
    0 for other tokens; and `noise` [B M].
    """

    noise: Count = 64
    power: float = 0.75

    reports: ClassVar[tuple[Metric, ...]] = Split.reports  # no perplexity: the loss is over pairs of words

    def batch_like(self, batch_size: int) -> dict[str, jax.ShapeDtypeStruct]:
        """Return the shapes of a batch, which do not depend on data."""
        like = super().batch_like(batch_size)
        return like | {
            'frequency': jax.ShapeDtypeStruct(like['tokens'].shape, np.float32),
            'noise': jax.ShapeDtypeStruct((batch_size, self.noise), np.int32),
        }

    def _splits(self, arrays: BySplit, source: Corpus, frame: Any, tokenizer: Tokenizer) -> dict[str, Split]:
        found = super()._splits(arrays, source, frame, tokenizer)
        words = WordCounts.of(found['train'], tokenizer, self.power)
        splits = {}
        for number, (name, split) in enumerate(found.items()):
            rows = SkipGramRows(split.rows, words, self.noise, number)
            splits[name] = Split(rows=rows, targets=split.tokens, unit='tokens')
        return splits


@dataclass(frozen=True, eq=False)
class WordCounts:
    """Word frequencies and the noise distribution.

    Attributes: frequency, of each token among all words of the training split; cumulated, the cumulative noise
        distribution.
    """

    frequency: Float[np.ndarray, 'V']
    cumulated: Float[np.ndarray, 'V']

    @classmethod
    def of(cls, split: TextSplit, tokenizer: Tokenizer, power: float) -> 'WordCounts':
        """Count the words of a split.

        Raises:
            UserError: there are none.
        """
        counts = np.bincount(split.rows.tokens, minlength=tokenizer.size).astype(np.float64)
        counts[[*tokenizer.specials.values(), *tokenizer.unknown]] = 0
        if not counts.any():
            raise UserError('data: no word of the training split is in the vocabulary')
        noise = np.where(counts > 0, counts**power, 0)
        return cls(counts / counts.sum(), np.cumsum(noise) / noise.sum())

    def drawn(self, count: int, split: int, row: int) -> np.ndarray:
        """Draw words from the noise distribution, deterministically for each row."""
        raw = np.random.Philox(key=0, counter=[0, split, row, 0]).random_raw(count)
        # The last bound is omitted, since numbers just below 1 are rounded to it.
        return np.searchsorted(self.cumulated[:-1], raw / _HIGHEST, side='right').astype(np.int32)


@dataclass(frozen=True, eq=False)
class SkipGramRows:
    """Rows of text with noise words.

    Attributes: text, its rows; words; noise, number of noise words per row; split, its number.
    """

    text: RowSource
    words: WordCounts
    noise: int
    split: int

    def __len__(self) -> int:
        return len(self.text)

    def __getitem__(self, row: int) -> Row:
        return self._with_words(self.text[row], self.words.drawn(self.noise, self.split, row))

    def padding(self) -> Row:
        """Return a row of padding."""
        return self._with_words(self.text.padding(), np.zeros(self.noise, np.int32))

    def _with_words(self, row: Row, noise: np.ndarray) -> Row:
        frequency = self.words.frequency[row['tokens']].astype(np.float32)
        return row | {'frequency': frequency, 'noise': noise}
