# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Word tokenizer: the most frequent words, separated by white space."""

from collections.abc import Iterable
from dataclasses import dataclass

import tokenizers
from tokenizers import models, pre_tokenizers, trainers

from saccade.data.tokenizer.tokenizer import UNKNOWN, Tokenizer
from saccade.data.tokenizer.trainer import Reserving, check_vocabulary, numbered, require_text

__all__ = ['Word']


@dataclass(frozen=True)
class Word(Reserving):
    """Word tokenizer: one token per word between white space, the most frequent first; all others are [UNK].

    Decoding puts one space between words. A word spelled like a special token is [UNK].

    Attributes:
        vocabulary: maximum number of tokens, including the special ones.
    """

    vocabulary: int

    def __post_init__(self) -> None:
        super().__post_init__()
        check_vocabulary(self.vocabulary, len(self.known) + 1)

    def train(self, texts: Iterable[str]) -> Tokenizer:
        """Collect the most frequent words of the texts.

        Raises:
            UserError: the texts have no words.
        """
        counter = tokenizers.Tokenizer(models.WordLevel(unk_token=UNKNOWN))
        counter.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        trainer = trainers.WordLevelTrainer(vocab_size=self.vocabulary, min_frequency=1, show_progress=False)
        counter.train_from_iterator(texts, trainer)
        ranks = counter.get_vocab()
        words = [word for word in sorted(ranks, key=ranks.__getitem__) if word not in self.known]
        require_text(words)
        vocabulary = numbered(self.known, words[: self.vocabulary - len(self.known)])
        backend = tokenizers.Tokenizer(models.WordLevel(vocabulary, unk_token=UNKNOWN))
        backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        return self.finished(backend)
