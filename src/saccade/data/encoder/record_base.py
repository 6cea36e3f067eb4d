# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of encoder datasets from records: a tokenizer and, for each split, cached arrays and rows over them."""

from abc import abstractmethod
from dataclasses import dataclass
from pathlib import Path

import jax

from saccade.data.corpus.records import Records, open_records
from saccade.data.dataset_base import Arrays, BySplit
from saccade.data.rows.frame import Frame, RowFrame
from saccade.data.rows.ragged import require_windows
from saccade.data.split import Row, Split, batch_of
from saccade.data.tokenized_base import TokenizedBase
from saccade.data.tokenizer.tokenizer import Tokenizer
from saccade.data.tokenizer.trainer import Trainer
from saccade.types import HeldOut, Part


@dataclass(frozen=True, kw_only=True)
class FromRecords(TokenizedBase):
    """Base of encoder datasets from records.

    Attributes:
    tokenizer: trainer of the tokenizer, with [CLS] and [SEP], as `data.tokenizer.bpe:BPE`.
    context_length: number of tokens per row.
    name: a TFDS dataset, as 'glue/sst2', or 'docstrings', as in `data.corpus.docstrings`.
    path: the user's file or folder, as in `data.corpus.records`, which overrides a named dataset.
    validation: fraction of records for validation, if there is no such split.
    overlap: number of tokens that consecutive windows of a long text share.
    """

    tokenizer: Part[Trainer]
    context_length: int
    name: str | None = None
    path: str | None = None
    validation: HeldOut = 0.1
    overlap: int = 0

    def __post_init__(self) -> None:
        self._usual()

    def batch_like(self, batch_size: int) -> dict[str, jax.ShapeDtypeStruct]:
        """Return the shapes of a batch, which do not depend on data."""
        return batch_of(self._padding(self._usual()), batch_size)

    def _open(self, cache: Path) -> Records:
        given = None if self.path else self.name
        return open_records(given, self.path, cache, self.validation, (*self._columns, *self._answers))

    def _splits(self, arrays: BySplit, source: Records, frame: RowFrame, tokenizer: Tokenizer) -> dict[str, Split]:
        return {name: self._split(found, frame) for name, found in arrays.items()}

    def _fitting(self, frame: Frame) -> RowFrame:
        layout = self._layout(frame)
        require_windows(layout.room(len(self._columns)), self.overlap)
        return layout

    def _layout(self, frame: Frame) -> RowFrame:
        return frame

    @property
    @abstractmethod
    def _answers(self) -> tuple[str, ...]:
        """Columns of the labels."""

    @abstractmethod
    def _split(self, arrays: Arrays, frame: RowFrame) -> Split:
        """Build rows from the arrays of a split."""

    @abstractmethod
    def _padding(self, frame: RowFrame) -> Row:
        """Return a row of padding."""
