# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Special tokens of an encoder's row: [CLS] a [SEP] for one text, or [CLS] a [SEP] b [SEP] for two.

Devlin et al. 2019, "BERT", figure 1, https://arxiv.org/abs/1810.04805. In the vocabularies of RoBERTa the names are
<s>, </s> and <mask>; it has two </s> between texts, and we have one. Where the folder of a tokenizer names the tokens
by role, those are taken, whatever their names.
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
        """Return how many tokens so many texts may have: together, or each where it has a row of its own."""
        ...

    def row(self, *texts: Values) -> Row:
        """Return tokens, segments, positions and types of these texts."""
        ...

    def padding(self) -> Row:
        """Return the same without a token."""
        ...


@dataclass(frozen=True)
class Frame:
    """Special tokens around the texts of an encoder's row.

    Attributes: tokens of a row; the ids that open it and that close each text.
    """

    context_length: int
    opens: int
    closes: int

    @classmethod
    def of(cls, tokenizer: Tokenizer, context_length: int) -> 'Frame':
        """Take the special tokens of a tokenizer.

        Raises:
            UserError: it lacks one.
        """
        opens, closes = tokenizer.special(*OPENS, role='cls_token'), tokenizer.special(*CLOSES, role='sep_token')
        return cls(context_length, opens, closes)

    def room(self, texts: int = 1) -> int:
        """Tokens that so many texts may have together."""
        return self.context_length - 1 - texts

    def row(self, *texts: Values) -> Row:
        """Tokens, segments, positions and types of a row of these texts."""
        used = 1 + sum(len(text) + 1 for text in texts)
        row = self.padding()
        row['tokens'][:used] = [self.opens, *(token for text in texts for token in (*text, self.closes))]
        row['segments'][:used] = 1
        row['positions'][:used] = np.arange(used)
        if len(texts) > 1:
            row['types'][2 + len(texts[0]) : used] = 1
        return row

    def beside(self, fill: int, *values: Values) -> np.ndarray:
        """Put values, one a token of each text, where these tokens stand; `fill` is everywhere else."""
        array = np.full(self.context_length, fill, np.int32)
        for start, text in zip(self.starts(*values), values, strict=True):
            array[start : start + len(text)] = text
        return array

    def starts(self, *texts: Values) -> Iterator[int]:
        """Where the first token of each text stands."""
        at = 1
        for text in texts:
            yield at
            at += len(text) + 1

    def padding(self) -> Row:
        """A row without a token."""
        return {name: np.zeros(self.context_length, np.int32) for name in ('tokens', 'segments', 'positions', 'types')}
