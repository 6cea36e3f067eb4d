# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Special tokens of an encoder's row: [CLS] a [SEP] for one text, or [CLS] a [SEP] b [SEP] for two.

Devlin et al. 2019, "BERT", figure 1, https://arxiv.org/abs/1810.04805. RoBERTa's vocabularies name them <s>, </s> and
<mask>; RoBERTa has two </s> between texts, this frame has one. If the tokenizer's folder names the tokens by role,
these are used, whatever their names.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from saccade.data.split import Row
from saccade.data.tokenizer.tokenizer import Tokenizer

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

    def padding(self) -> Row:
        """Return a row of padding."""
        ...


@dataclass(frozen=True)
class Frame:
    """Special tokens around the texts of an encoder's row.

    Attributes: context_length, tokens per row; opens, id of the first token; closes, id of the token after each text.
    """

    context_length: int
    opens: int
    closes: int

    @classmethod
    def of(cls, tokenizer: Tokenizer, context_length: int) -> 'Frame':
        """Return the frame with the special tokens of a tokenizer.

        Raises:
            UserError: the tokenizer lacks one.
        """
        opens, closes = tokenizer.special(*OPENS, role='cls_token'), tokenizer.special(*CLOSES, role='sep_token')
        return cls(context_length, opens, closes)

    def room(self, texts: int = 1) -> int:
        """Return the maximum number of tokens of the texts together."""
        return self.context_length - 1 - texts

    def row(self, *texts: Values) -> Row:
        """Return tokens, segments, positions and types of a row with these texts."""
        used = 1 + sum(len(text) + 1 for text in texts)
        row = self.padding()
        row['tokens'][:used] = [self.opens, *(token for text in texts for token in (*text, self.closes))]
        row['segments'][:used] = 1
        row['positions'][:used] = np.arange(used)
        if len(texts) > 1:
            row['types'][2 + len(texts[0]) : used] = 1
        return row

    def scattered(self, fill: int, *values: Values) -> np.ndarray:
        """Scatter per-token values of each text into a row; `fill` elsewhere."""
        array = np.full(self.context_length, fill, np.int32)
        for start, text in zip(self.starts(*values), values, strict=True):
            array[start : start + len(text)] = text
        return array

    def starts(self, *texts: Values) -> Iterator[int]:
        """Yield the index of the first token of each text."""
        at = 1
        for text in texts:
            yield at
            at += len(text) + 1

    def padding(self) -> Row:
        """Return a row of padding."""
        return {name: np.zeros(self.context_length, np.int32) for name in ('tokens', 'segments', 'positions', 'types')}
