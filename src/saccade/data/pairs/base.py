# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of sequence-to-sequence datasets: records of a source and a target text become rows of both.

Nothing is cut. Training leaves pairs out of which a text is too long for a row; a held-out pair stays and is
evaluated: for a source that is too long nothing is generated, and a target that is too long costs no loss. Either is
reported, with how many there are and where the first one stands.
"""

import itertools
import logging
import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, SupportsInt

import jax
import numpy as np

from saccade.data.cache import digest, trained
from saccade.data.corpus.records import DatasetRecords, Records, RecordSource
from saccade.data.dataset_base import Arrays, BySplit
from saccade.data.rows.pair_frame import PairFrame
from saccade.data.rows.ragged import Ragged, encoded
from saccade.data.split import PERPLEXITY, Bucket, Row, Split, batch_of, bucketed
from saccade.data.tokenized_base import TokenizedBase
from saccade.data.tokenizer.tokenizer import Tokenizer
from saccade.data.tokenizer.trainer import Trainer
from saccade.types import Count, Metric, Part, UserError

_SIDES = ('source', 'target')
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class PairRows:
    """Rows of source-target pairs, made lazily. Attributes: numbers, of the rows among those of the split."""

    frame: PairFrame
    source: Ragged
    target: Ragged
    numbers: np.ndarray

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, row: int) -> Row:
        number = int(self.numbers[row])
        return self.frame.row(self.source[number], self.target[number]) | {'row': np.int32(number)}

    def padding(self) -> Row:
        """A row of which nothing counts."""
        return self.frame.padding()


@dataclass(frozen=True, eq=False)
class Texts(Sequence[str]):
    """Texts by number. Attributes: of each, its bytes in UTF-8."""

    bytes: Ragged

    def __len__(self) -> int:
        return len(self.bytes)

    def __getitem__(self, index: int) -> str:
        return self.bytes[index].tobytes().decode()


@dataclass(frozen=True, eq=False, kw_only=True)
class PairSplit(Split):
    """Split of source-target pairs.

    Attributes: sources and targets as they were given, by the number of their row; what turns tokens into text.
    """

    rows: PairRows
    sources: Texts
    references: Texts
    tokenizer: Tokenizer

    def text(self, ids: Iterable[SupportsInt]) -> str:
        """The text of tokens that were written."""
        return self.tokenizer.decode(ids)

    reports: ClassVar[tuple[Metric, ...]] = (PERPLEXITY,)

    def derived(self, metrics: Mapping[str, float]) -> dict[str, float]:
        """Perplexity, by token."""
        return {'perplexity': math.exp(min(metrics['loss'], 700.0))}


@dataclass(frozen=True, kw_only=True)
class FromPairs(TokenizedBase):
    """Base of datasets of source-target pairs.

    Attributes:
    tokenizer: how to train the tokenizer, on both sides; it needs an end token.
    source_context_length: tokens of the source, the end token among them.
    context_length: tokens of the target, the end token among them.
    start: the special token that the target starts with; None: the one that the tokenizer's folder names, else the
        end token.
    buckets: lengths, in tokens of a side, of pairs that are learned from in batches of their own, with as many more
        rows as such pairs are shorter, as far as they are below the contexts; empty for rows of one length.
    source_tokenizer: how to train one on the sources alone, where they have a vocabulary of their own; `tokenizer` is
        then trained on the targets alone.
    mode: the special token before each source, of a model that knows several; None for none.
    """

    tokenizer: Part[Trainer]
    source_context_length: Count
    context_length: Count
    start: str | None = None
    buckets: tuple[int, ...] = ()
    source_tokenizer: Part[Trainer] | None = None
    mode: str | None = None

    reports: ClassVar[tuple[Metric, ...]] = PairSplit.reports

    def __post_init__(self) -> None:
        if any(shorter >= longer for shorter, longer in itertools.pairwise((0, *self.buckets))):
            raise UserError(f'data.buckets: {list(self.buckets)} must be lengths of 1 or more that grow')

    def batch_like(self, batch_size: int) -> dict[str, jax.ShapeDtypeStruct]:
        """Return the shapes of a batch, known before any data is read."""
        return self.batches_like(batch_size)[0]

    def batches_like(self, batch_size: int) -> list[dict[str, jax.ShapeDtypeStruct]]:
        """Return the shapes of all batches that are learned from; first of the longest rows, last of the shortest."""
        *shorter, frame = self._frames(PairFrame(self.source_context_length, self.context_length, start=0, end=0))
        frames = [frame, *reversed(shorter)]
        return [batch_of(each.padding(), bucketed(batch_size, frame.tokens / each.tokens)) for each in frames]

    def frame(self, tokenizer: Tokenizer) -> PairFrame:
        """How a pair stands in a row.

        Raises:
            UserError: the tokenizer lacks a special token.
        """
        frame = PairFrame.of(tokenizer, self.source_context_length, self.context_length, self.start)
        return frame.in_mode(tokenizer, self.mode)

    def _frames(self, frame: PairFrame) -> list[PairFrame]:
        """The frames of pairs by their length, the longest last."""
        longest = max(self.source_context_length, self.context_length)
        return [*(frame.shorter(length) for length in self.buckets if length < longest), frame]

    @property
    @abstractmethod
    def _columns(self) -> tuple[str, str]:
        """The columns of the sources and of the targets."""

    @property
    def _key(self) -> Any:
        return 'pairs', self._columns

    def _make_processor(self, source: Records, cache: Path) -> Tokenizer:
        def of(tokenizer: Part[Trainer], sides: slice) -> Tokenizer:
            corpus = digest(source.digest, self._columns[sides])
            return trained(tokenizer, lambda: self._texts(source.splits['train'], sides), corpus, cache)

        if self.source_tokenizer is None:
            return of(self.tokenizer, slice(0, 2))
        written = of(self.tokenizer, slice(1, 2))
        return Tokenizer(written.backend, of(self.source_tokenizer, slice(0, 1)), written.roles, written.file)

    def _texts(self, examples: RecordSource, sides: slice = slice(0, 2)) -> Iterator[str]:
        return itertools.chain.from_iterable(pair[sides] for pair in self._pairs(examples))

    def _pairs(self, records: RecordSource) -> Iterator[tuple[str, str]]:
        """The texts of each pair, each read when its turn comes.

        Raises:
            UserError: one is no text; its place is named.
        """
        for index in range(len(records)):
            record = records[index]
            for column in self._columns:
                if not isinstance(record[column], str):
                    raise UserError(f"{records.place(index)}: '{column}' is no text, but {record[column]!r}")
            yield tuple(record[column] for column in self._columns)

    def _arrays(self, source: Records, tokenizer: Tokenizer) -> BySplit:
        return {name: self._encoded(records, tokenizer) for name, records in source.splits.items()}

    def _splits(self, arrays: BySplit, source: Records, frame: PairFrame, tokenizer: Tokenizer) -> dict[str, Split]:
        return {
            name: _Prepared.of(name, found, source.splits[name]).split(self._frames(frame), tokenizer)
            for name, found in arrays.items()
        }

    def _encoded(self, records: RecordSource, tokenizer: Tokenizer) -> Arrays:
        texts = list(zip(*self._pairs(records), strict=True))
        there = self._filled(texts, records)
        arrays: dict[str, np.ndarray] = {'record': there}
        for side, column, used in zip(_SIDES, texts, (tokenizer.source, tokenizer), strict=True):
            chosen = [column[index] for index in there]
            arrays[f'{side}_tokens'], arrays[f'{side}_lengths'] = encoded(chosen, used)
            written = [text.encode() for text in chosen]
            arrays[f'{side}_bytes'] = np.frombuffer(b''.join(written), np.uint8)
            arrays[f'{side}_sizes'] = np.array([len(text) for text in written], np.int64)
        return arrays

    def _filled(self, texts: Sequence[Sequence[str]], records: RecordSource) -> np.ndarray:
        """The numbers of the pairs that have two texts.

        Raises:
            UserError: one of the user's own has not, or none has.
        """
        filled = np.array([[bool(text.strip()) for text in column] for column in texts])
        empty = np.flatnonzero(~filled.all(axis=0))
        if len(empty):
            side = self._columns[int(np.flatnonzero(~filled[:, empty[0]])[0])]
            if not isinstance(records, DatasetRecords):
                raise UserError(f"{records.place(int(empty[0]))}: '{side}' is empty; a pair needs both texts")
            said = "%s: %d of %d pairs have an empty text and are left out; the first is %s, '%s'"
            _LOG.warning(said, records.name, len(empty), len(records), records.place(int(empty[0])), side)
        if len(empty) == len(records):
            raise UserError('data: no pair has two texts')
        return np.flatnonzero(filled.all(axis=0))


@dataclass(frozen=True, eq=False)
class _Prepared:
    """Prepared split with its records. Attributes: tokens and texts, by side."""

    name: str
    tokens: tuple[Ragged, Ragged]
    texts: tuple[Ragged, Ragged]
    record: np.ndarray
    records: RecordSource

    @classmethod
    def of(cls, name: str, arrays: Arrays, records: RecordSource) -> '_Prepared':
        tokens, texts = (
            tuple(Ragged.of(arrays[f'{side}_{values}'], arrays[f'{side}_{lengths}']) for side in _SIDES)
            for values, lengths in (('tokens', 'lengths'), ('bytes', 'sizes'))
        )
        return cls(name, tokens, texts, arrays['record'], records)

    def only(self, chosen: np.ndarray) -> '_Prepared':
        """Some of the pairs."""
        tokens, texts = (
            tuple(Ragged(each.values, each.spans[chosen]) for each in sides) for sides in (self.tokens, self.texts)
        )
        return replace(self, tokens=tokens, texts=texts, record=self.record[chosen])

    def split(self, frames: Sequence[PairFrame], tokenizer: Tokenizer) -> PairSplit:
        """Make rows of the pairs, having said what is wrong with them; those to learn from lie in buckets too.

        Args:
            frames: of the pairs by their length, the longest last.

        Raises:
            UserError: none is short enough to learn from.
        """
        self._say_unknown(tokenizer)
        fitting = self._fitting(frames[-1])
        buckets = fitting._buckets(frames) if self.name == 'train' and len(frames) > 1 else ()
        return fitting._rows(frames[-1], tokenizer, buckets)

    @property
    def _sizes(self) -> np.ndarray:
        """[pairs, 2], tokens of either side."""
        return np.stack([each.lengths for each in self.tokens], axis=-1)

    def _place(self, pair: int) -> str:
        return self.records.place(int(self.record[pair]))

    def _buckets(self, frames: Sequence[PairFrame]) -> tuple[Bucket, ...]:
        """Put each pair into the bucket of the first frame that both of its sides fit."""
        fits = [(self._sizes <= one.room).all(axis=-1) for one in frames]
        first = np.argmax(fits, axis=0)
        found = [(one, PairRows(one, *self.tokens, np.flatnonzero(first == n))) for n, one in enumerate(frames)]
        return tuple(Bucket(rows, frames[-1].tokens / one.tokens) for one, rows in found if len(rows))

    def _rows(self, frame: PairFrame, tokenizer: Tokenizer, buckets: tuple[Bucket, ...]) -> PairSplit:
        fits = (self._sizes <= frame.room).all(axis=-1)
        return PairSplit(
            rows=PairRows(frame, *self.tokens, np.arange(len(self.record))),
            buckets=buckets,
            targets=int((self.tokens[1].lengths + 1)[fits].sum()),  # the end token is one
            unit='tokens',
            sources=Texts(self.texts[0]),
            references=Texts(self.texts[1]),
            tokenizer=tokenizer,
        )

    def _fitting(self, frame: PairFrame) -> '_Prepared':
        longer = self._sizes > frame.room
        long = np.flatnonzero(longer.any(axis=-1))
        if not len(long):
            return self
        training = self.name == 'train'
        _LOG.warning(
            '%s: %d of %d pairs are longer than their rows (data.source_context_length of %d tokens: %d; '
            'data.context_length of %d: %d); the first is %s; %s',
            self.name, len(long), len(self.record), frame.source_context_length, longer[:, 0].sum(),
            frame.context_length, longer[:, 1].sum(), self._place(int(long[0])),
            'training leaves them out' if training else 'they are judged, but no such source is translated',
        )  # fmt: skip
        if training and len(long) == len(self.record):
            raise UserError(
                'data: no pair is short enough to learn from; raise data.source_context_length and data.context_length'
            )
        return self.only(np.flatnonzero(~longer.any(axis=-1))) if training else self

    def _say_unknown(self, tokenizer: Tokenizer) -> None:
        for side, tokens, used in zip(_SIDES, self.tokens, (tokenizer.source, tokenizer), strict=True):
            unknown = np.flatnonzero(np.isin(tokens.values, [*used.unknown]))
            if len(unknown):
                pair = int(np.searchsorted(tokens.spans[:, 1], unknown[0], side='right'))
                said = '%s: %d of %d tokens of the %s are unknown to the tokenizer; the first is in %s'
                _LOG.warning(said, self.name, len(unknown), len(tokens.values), side, self._place(pair))
