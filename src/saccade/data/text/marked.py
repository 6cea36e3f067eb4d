# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Denoising text: rows with the special tokens that a denoiser puts into them; the task draws what is corrupted.

Sentinels are named as in T5's vocabulary (Raffel et al. 2020, section 3.1.4, https://arxiv.org/abs/1910.10683), so that
one which is trained here and one which is published are used alike.
"""

from dataclasses import dataclass
from typing import ClassVar

import jax
import numpy as np

from saccade.data.corpus.corpus import Corpus
from saccade.data.dataset_base import BySplit
from saccade.data.split import Row, RowSource, Split, batch_of
from saccade.data.text.stream import TextData
from saccade.data.tokenizer.tokenizer import Tokenizer
from saccade.types import CountOrZero, Metric, UserError

__all__ = ['MarkedText']

SENTINEL = '<extra_id_{}>'


@dataclass(frozen=True, eq=False)
class MarkedRows:
    """Rows of text for denoising, with their numbers and the same special tokens in each."""

    rows: RowSource
    marks: Row

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, row: int) -> Row:
        return self.rows[row] | self.marks | {'row': np.int32(row)}

    def padding(self) -> Row:
        """A row of which nothing counts."""
        return self.rows.padding() | self.marks | {'row': np.int32(-1)}


@dataclass(frozen=True, kw_only=True)
class MarkedText(TextData):
    """Text for denoising, with special tokens in each row.

    Attributes:
    sentinels: how many the tokenizer must have, of the names <extra_id_0>, <extra_id_1> ...
    modes: the special tokens that a source may begin with.
    start: the special token that a target starts with; None: the one that the tokenizer's folder names, else the end
        token.
    """

    sentinels: CountOrZero
    modes: tuple[str, ...] = ()
    start: str | None = None

    reports: ClassVar[tuple[Metric, ...]] = Split.reports  # its loss is of what is left out

    def batch_like(self, batch_size: int) -> dict[str, jax.ShapeDtypeStruct]:
        """Return the shapes of a batch, known before any data is read."""
        ids = ('start', 'end', 'row', *self.modes)
        row: Row = {'sentinels': np.zeros(self.sentinels, np.int32), **dict.fromkeys(ids, np.int32(0))}
        return super().batch_like(batch_size) | batch_of(row, batch_size)

    def _splits(self, arrays: BySplit, source: Corpus, frame: Row, tokenizer: Tokenizer) -> dict[str, Split]:
        found = super()._splits(arrays, source, frame, tokenizer)
        return {
            name: Split(rows=MarkedRows(split.rows, frame), targets=len(split.rows), unit='rows')
            for name, split in found.items()
        }

    def frame(self, tokenizer: Tokenizer) -> Row:
        """Return the ids of the special tokens that each row has.

        Raises:
            UserError: the tokenizer lacks one.
        """
        if tokenizer.end is None:
            raise UserError('the tokenizer has no end token, and nothing else says where a text ends; give it one')
        named = tokenizer.role('decoder_start_token')
        start = tokenizer.special(self.start) if self.start else tokenizer.end if named is None else named
        ids = {mode: np.int32(tokenizer.special(mode)) for mode in self.modes}
        return {
            'sentinels': sentinels_of(tokenizer, self.sentinels),
            'start': np.int32(start),
            'end': np.int32(tokenizer.end),
            **ids,
        }


def sentinels_of(tokenizer: Tokenizer, count: int) -> np.ndarray:
    """Return the ids of the first sentinels, in their order.

    Raises:
        UserError: there are fewer.
    """
    names, specials = [SENTINEL.format(number) for number in range(count)], tokenizer.specials
    there = [name for name in names if name in specials]
    if len(there) < count:
        missing = next(name for name in names if name not in specials)
        raise UserError(
            f'the tokenizer has {len(there)} of {count} sentinels; {missing!r} is not among its special tokens'
        )
    return np.array([specials[name] for name in names], np.int32)
