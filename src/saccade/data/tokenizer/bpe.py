# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Byte-pair encoding, over bytes within words."""

from collections.abc import Iterable
from dataclasses import dataclass

import tokenizers
from tokenizers import decoders, models, pre_tokenizers, trainers

from saccade.data.tokenizer.tokenizer import Tokenizer
from saccade.data.tokenizer.trainer import Reserving, check_vocabulary

__all__ = ['BPE']


@dataclass(frozen=True)
class BPE(Reserving):
    """Byte-pair encoding of bytes within words, as in GPT-2: lossless, without unknown tokens.

    Sennrich, Haddow and Birch, 2016, Neural Machine Translation of Rare Words with Subword Units,
    https://arxiv.org/abs/1508.07909; over bytes: Radford et al., 2019, Language Models are Unsupervised
    Multitask Learners, section 2.2.

    Attributes:
        vocabulary: maximum number of tokens: special tokens, 256 bytes, and merges. A short text yields fewer.
    """

    vocabulary: int

    def __post_init__(self) -> None:
        super().__post_init__()
        check_vocabulary(self.vocabulary, 256 + len(self.reserved))

    def train(self, texts: Iterable[str]) -> Tokenizer:
        """Learn the merges from the texts."""
        backend = tokenizers.Tokenizer(models.BPE())
        backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        backend.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=self.vocabulary,
            special_tokens=self.reserved,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
        backend.train_from_iterator(texts, trainer)
        return self.finished(backend)
