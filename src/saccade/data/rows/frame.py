# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Special tokens of an encoder's row, from the tokenizer's post-processor, or else [CLS] a [SEP] b [SEP].

A published tokenizer.json has a post-processor, which may put other tokens between two texts than after them, or none
at all:

    BERT     [CLS] a [SEP]        [CLS] a [SEP] b [SEP]
    RoBERTa  <s> a </s>           <s> a </s> </s> b </s>
    T5       a </s>               a </s> b </s>
    Llama    <s> a                <s> a <s> b
    GPT-2    a                    a b

Without one, as for a tokenizer trained here, rows are as in Devlin et al. 2019, "BERT", figure 1,
https://arxiv.org/abs/1810.04805. Their tokens are found by role, or else by the names of BERT or RoBERTa.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from saccade.data.split import Row
from saccade.data.tokenizer.tokenizer import Piece, Tokenizer

OPENS, CLOSES, MASK = ('[CLS]', '<s>'), ('[SEP]', '</s>'), ('[MASK]', '<mask>')

Values = Sequence[int] | np.ndarray


@runtime_checkable
class RowFrame(Protocol):
    """Protocol of special tokens around the texts of an example."""

    def room(self, texts: int = 1) -> int:
        """Return the maximum number of text tokens: of all texts together, or of each if it has a separate row."""
        ...

    def row(self, *texts: Values) -> Row:
        """Return tokens, segments, positions and types of these texts."""
        ...

    def empty(self, *lengths: np.ndarray) -> np.ndarray:
        """Return True for each example without any token in a row. Args: number of tokens of each text, [examples]."""
        ...

    def padding(self) -> Row:
        """Return a row of padding."""
        ...


@dataclass(frozen=True)
class Frame:
    """Special tokens around the texts of an encoder's row.

    Attributes: context_length, tokens per row; single and pair, the pieces of a row of one text and of two.
    """

    context_length: int
    single: tuple[Piece, ...]
    pair: tuple[Piece, ...]

    @classmethod
    def of(cls, tokenizer: Tokenizer, context_length: int) -> 'Frame':
        """Return the frame with the special tokens of a tokenizer.

        Raises:
            UserError: the tokenizer has no post-processor and lacks a special token, or its post-processor does not
                keep each text once, in order.
        """
        single, pair = tokenizer.pieces(1), tokenizer.pieces(2)
        if single is not None and pair is not None:
            return cls(context_length, single, pair)
        opens, closes = tokenizer.special(*OPENS, role='cls_token'), tokenizer.special(*CLOSES, role='sep_token')
        return cls.of_bert(context_length, opens, closes)

    @classmethod
    def of_bert(cls, context_length: int, opens: int = 0, closes: int = 0) -> 'Frame':
        """Return the frame with one token before the texts and one after each. Args: ids of the two."""
        single = Piece(opens), Piece(None), Piece(closes)
        return cls(context_length, single, (*single, Piece(None, 1), Piece(closes, 1)))

    def room(self, texts: int = 1) -> int:
        """Return the maximum number of tokens of the texts together."""
        return self.context_length + texts - len(self._pieces(texts))

    def row(self, *texts: Values) -> Row:
        """Return tokens, segments, positions and types of a row with these texts."""
        row, at = self.padding(), 0
        for piece, tokens in self._filled(texts):
            row['tokens'][at : at + len(tokens)] = tokens
            row['types'][at : at + len(tokens)] = piece.kind
            at += len(tokens)
        row['segments'][:at] = 1
        row['positions'][:at] = np.arange(at)
        return row

    def empty(self, *lengths: np.ndarray) -> np.ndarray:
        """Return True for each example without any token. Args: number of tokens of each text, [examples]."""
        return sum(lengths) + self.context_length - self.room(len(lengths)) == 0

    def scattered(self, fill: int, *values: Values) -> np.ndarray:
        """Scatter per-token values of each text into a row; `fill` elsewhere."""
        array = np.full(self.context_length, fill, np.int32)
        for start, text in zip(self.starts(*values), values, strict=True):
            array[start : start + len(text)] = text
        return array

    def starts(self, *texts: Values) -> Iterator[int]:
        """Yield the index of the first token of each text."""
        at = 0
        for piece, tokens in self._filled(texts):
            if piece.token is None:
                yield at
            at += len(tokens)

    def padding(self) -> Row:
        """Return a row of padding."""
        return {name: np.zeros(self.context_length, np.int32) for name in ('tokens', 'segments', 'positions', 'types')}

    def _filled(self, texts: Sequence[Values]) -> Iterator[tuple[Piece, Values]]:
        """Yield each piece of the row of these texts, with its tokens."""
        left = iter(texts)
        for piece in self._pieces(len(texts)):
            yield piece, next(left) if piece.token is None else [piece.token]

    def _pieces(self, texts: int) -> tuple[Piece, ...]:
        return self.single if texts == 1 else self.pair
