# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""From records to prepared data: a tokenizer and, for each split, arrays that are made once and the rows on them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from saccade.data.cache import digest, explained, kept, trained
from saccade.data.frame import Frame
from saccade.data.ragged import require_chunks
from saccade.data.records import Records, RecordSource, open_records
from saccade.data.split import Prepared, Row, Split, batch_of
from saccade.data.tokenizer import Tokenizer, Trainer
from saccade.types import Part

_FORMAT = 1  # part of the cache key: another number wherever the arrays or their meaning change

Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True, kw_only=True)
class FromRecords:
    """Attributes:
    tokenizer: how to train the tokenizer, which needs [CLS] and [SEP], as in `data.tokenizer:BPE`.
    context: tokens of a row.
    name: a TFDS dataset, as 'glue/sst2'.
    path: the user's own file or folder, as in `data.records`, which takes the place of a named dataset.
    validation: the share of records kept for validation, where there is no split of its own.
    overlap: tokens that the chunks of what is too long for a row have in common, or more.
    """

    tokenizer: Part[Trainer]
    context: int
    name: str | None = None
    path: str | None = None
    validation: float = 0.1
    overlap: int = 0

    def __post_init__(self) -> None:
        require_chunks(self._frame().room(), self.overlap)

    def batch_like(self, batch_size: int) -> dict[str, jax.ShapeDtypeStruct]:
        """Return the shapes of a batch, known before any data is read."""
        return batch_of(self._padding(self._frame()), batch_size)

    def prepare(self, cache: Path, tokenizer: Path | None = None) -> Prepared:
        """Tokenise the records, or find that done in the cache.

        Args:
            cache: folder that outlives the run; two processes may prepare the same data in it at once.
            tokenizer: a tokenizer.json to use; None: train one on the training split, once for each specification.

        Raises:
            UserError: the records cannot be read, or are not as they must be; the tokenizer lacks [CLS], [SEP] or a
                character; the cache cannot be written.
        """
        cache = Path(cache)
        given = None if self.path else self.name
        records = open_records(given, self.path, cache, self.validation, (*self._texts, *self._answers))
        with explained(cache):
            used = Tokenizer.load(tokenizer) if tokenizer else self._trained(records, cache)
            frame = Frame.of(used, self.context)
            folder = cache / digest(_FORMAT, records.digest, used.digest, self._key)
            found = kept(folder, lambda: self._arrays(records, used))
        return Prepared(used, {name: self._split(arrays, frame) for name, arrays in found.items()})

    def _trained(self, records: Records, cache: Path) -> Tokenizer:
        corpus = digest(records.digest, self._texts)
        return trained(self.tokenizer, lambda: self._read(records.splits['train']), corpus, cache)

    def _frame(self) -> Frame:
        """What can be said of rows before there is a tokenizer."""
        return Frame(self.context, opens=0, closes=0)

    @property
    def _texts(self) -> tuple[str, ...]:
        """The columns that are tokenised."""
        raise NotImplementedError

    @property
    def _answers(self) -> tuple[str, ...]:
        """The columns that are to be predicted."""
        raise NotImplementedError

    @property
    def _key(self) -> Any:
        """All that decides what the arrays are, beside the records and the tokenizer."""
        raise NotImplementedError

    def _read(self, records: RecordSource) -> Iterator[str]:
        """What to train the tokenizer on."""
        raise NotImplementedError

    def _arrays(self, records: Records, tokenizer: Tokenizer) -> dict[str, Arrays]:
        """Make the arrays of each split."""
        raise NotImplementedError

    def _split(self, arrays: Arrays, frame: Frame) -> Split:
        """Make rows on the arrays of a split."""
        raise NotImplementedError

    def _padding(self, frame: Frame) -> Row:
        """A row of which nothing counts."""
        raise NotImplementedError
