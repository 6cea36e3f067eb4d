# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Special tokens of a sequence-to-sequence row: source x1 .. xm [end], and target [start] y1 .. yn [end].

Sutskever, Vinyals and Le 2014, section 2, https://arxiv.org/abs/1409.3215, end both with one token, as do Bahdanau, Cho
and Bengio 2015. The target also starts with it, unless the data or the tokenizer's folder name another token: T5 and
Marian use padding. If the tokenizer of a folder puts special tokens around a text, they are around the source. For a
model trained in several modes, a token before the source names the mode (Tay et al. 2022, "UL2", section 3.1.3,
https://arxiv.org/abs/2205.05131).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from saccade.data.split import Row
from saccade.data.tokenizer.tokenizer import Around, Tokenizer
from saccade.types import UserError

Ids = Sequence[int] | np.ndarray

_READ = ('source', 'source_segments', 'source_positions')
_WRITTEN = ('tokens', 'segments', 'positions')


@dataclass(frozen=True)
class PairFrame:
    """Special tokens around a source and its target.

    Attributes:
        source_context_length, context_length: tokens of the source, and of the target.
        start, end: ids at the start and the end of the target.
        around: ids before and after the source; None for the target's end token after it.
        mode: id of the mode token before each source; None for none.
    """

    source_context_length: int
    context_length: int
    start: int
    end: int
    around: Around | None = None
    mode: int | None = None

    @classmethod
    def of(
        cls, tokenizer: Tokenizer, source_context_length: int, context_length: int, start: str | None = None
    ) -> 'PairFrame':
        """Return the frame with the special tokens of a tokenizer.

        Args:
            start: name of the token at the start of a target; None for the one that the tokenizer's folder names, or
                else the end token.

        Raises:
            UserError: the tokenizer lacks one.
        """
        end, source_end = tokenizer.end, tokenizer.source.end
        if end is None or source_end is None:
            raise UserError('the tokenizer has no end token, and nothing else marks the end of a text; give it one')
        named = tokenizer.role('decoder_start_token')
        first = tokenizer.special(start) if start is not None else end if named is None else named
        found = tokenizer.source.around
        around = found if found is not None and any(found) else Around((), (source_end,))
        return cls(source_context_length, context_length, first, end, around)

    def in_mode(self, tokenizer: Tokenizer, mode: str | None) -> 'PairFrame':
        """Return the frame with this special token before each source.

        Raises:
            UserError: the tokenizer lacks it.
        """
        return replace(self, mode=None if mode is None else tokenizer.source.special(mode))

    @property
    def room(self) -> tuple[int, int]:
        """Maximum number of tokens of a source and of a target, without their special tokens."""
        return self.source_context_length - len(self.read([])), self.context_length - 1

    def shorter(self, length: int) -> 'PairFrame':
        """Return the frame for pairs whose two sides fit in `length` tokens."""
        return replace(
            self,
            source_context_length=min(length, self.source_context_length),
            context_length=min(length, self.context_length),
        )

    @property
    def tokens(self) -> int:
        """Total number of tokens of both sides."""
        return self.source_context_length + self.context_length

    def row(self, source: Ids, target: Ids = ()) -> Row:
        """Return the row of a pair. A side that does not fit is left empty, and then the row has no targets."""
        row = self.padding()
        read, written = self.read(source), [self.start, *target, self.end]
        if len(read) <= self.source_context_length:
            _put(row, _READ, read)
            if len(written) <= self.context_length + 1:
                _put(row, _WRITTEN, written)
        return row

    def read(self, source: Ids) -> list[int | np.integer]:
        """Return all tokens of a source, with the mode and the special tokens around it."""
        before, after = self.around or Around((), (self.end,))
        return [*before, *([] if self.mode is None else [self.mode]), *source, *after]

    def padding(self) -> Row:
        """Return a row of padding."""
        sizes = {**dict.fromkeys(_READ, self.source_context_length), **dict.fromkeys(_WRITTEN, self.context_length + 1)}
        row: Row = {name: np.zeros(size, np.int32) for name, size in sizes.items()}
        row['tokens'][0] = self.start  # also for a row whose target is to be generated
        return row | {'end': np.int32(self.end), 'row': np.int32(-1)}


def _put(row: Row, names: tuple[str, str, str], ids: Sequence[int | np.integer]) -> None:
    for name, values in zip(names, (ids, 1, np.arange(len(ids))), strict=True):
        row[name][: len(ids)] = values
