# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Denoising text: rows with the special tokens of denoisers; the task draws the corruption.

Sentinels have the names of T5's vocabulary (Raffel et al. 2020, section 3.1.4, https://arxiv.org/abs/1910.10683), so
models trained here and published ones are used alike.
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
    """Rows of text for denoising, with their indices and the same special tokens in each."""

    rows: RowSource
    marks: Row

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, row: int) -> Row:
        return self.rows[row] | self.marks | {'row': np.int32(row)}

    def padding(self) -> Row:
        """Return a row of padding."""
        return self.rows.padding() | self.marks | {'row': np.int32(-1)}


@dataclass(frozen=True, kw_only=True)
class MarkedText(TextData):
    """Text for denoising, with special tokens in each row.

    Attributes:
        sentinels: number of sentinels that the tokenizer must have, named <extra_id_0>, <extra_id_1> ...
        modes: special tokens that a source may begin with.
        start: special token at the start of a target; None for the one that the tokenizer's folder names, or else the
            end token.
    """

    sentinels: CountOrZero
    modes: tuple[str, ...] = ()
    start: str | None = None

    reports: ClassVar[tuple[Metric, ...]] = Split.reports  # no perplexity: the loss is of the removed parts

    def batch_like(self, batch_size: int) -> dict[str, jax.ShapeDtypeStruct]:
        """Return the shapes of a batch, which do not depend on data."""
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
        """Return the ids of the special tokens in each row.

        Raises:
            UserError: the tokenizer lacks one.
        """
        if tokenizer.end is None:
            raise UserError('the tokenizer has no end token, and nothing else marks the end of a text; give it one')
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
    """Return the ids of the first `count` sentinels, in order.

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
