# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of sequence-to-sequence datasets: records of a source and a target text become rows.

Texts are not truncated. Training skips pairs with a text too long for a row; a held-out pair is kept and evaluated: a
source that is too long has an empty translation, and a target that is too long adds no loss. Both are logged, with
their number and the place of the first.
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
    """Rows of source-target pairs, built lazily. Attributes: numbers, index of each row in its split."""

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
        """Return a row of padding."""
        return self.frame.padding()


@dataclass(frozen=True, eq=False)
class Texts(Sequence[str]):
    """Texts by index. Attributes: bytes, the UTF-8 bytes of each text."""

    bytes: Ragged

    def __len__(self) -> int:
        return len(self.bytes)

    def __getitem__(self, index: int) -> str:
        return self.bytes[index].tobytes().decode()


@dataclass(frozen=True, eq=False, kw_only=True)
class PairSplit(Split):
    """Split of source-target pairs.

    Attributes: sources and references (targets) as given, by row index; tokenizer, which decodes tokens.
    """

    rows: PairRows
    sources: Texts
    references: Texts
    tokenizer: Tokenizer

    def text(self, ids: Iterable[SupportsInt]) -> str:
        """Return the text of generated tokens."""
        return self.tokenizer.decode(ids)

    reports: ClassVar[tuple[Metric, ...]] = (PERPLEXITY,)

    def derived(self, metrics: Mapping[str, float]) -> dict[str, float]:
        """Return perplexity per token."""
        return {'perplexity': math.exp(min(metrics['loss'], 700.0))}


@dataclass(frozen=True, kw_only=True)
class FromPairs(TokenizedBase):
    """Base of datasets of source-target pairs.

    Attributes:
    tokenizer: trainer of the tokenizer, on both sides; it needs an end token.
    source_context_length: number of tokens of the source, including the end token.
    context_length: number of tokens of the target, including the end token.
    start: special token at the start of the target; None for the one that the tokenizer's folder names, or else the end
        token.
    buckets: lengths, in tokens per side, of shorter rows in separate training batches, which have proportionally more
        rows; lengths above the contexts are ignored; empty for rows of one length.
    source_tokenizer: trainer of a separate tokenizer on the sources, if they have their own vocabulary; `tokenizer` is
        then trained on the targets only.
    mode: special token of a mode before each source, for a model with several modes; None for none.
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
            raise UserError(f'data.buckets: {list(self.buckets)} must be increasing lengths of 1 or more')

    def batch_like(self, batch_size: int) -> dict[str, jax.ShapeDtypeStruct]:
        """Return the shapes of a batch, which do not depend on data."""
        return self.batches_like(batch_size)[0]

    def batches_like(self, batch_size: int) -> list[dict[str, jax.ShapeDtypeStruct]]:
        """Return the shapes of all training batches; first the one of the longest rows, last of the shortest."""
        *shorter, frame = self._frames(PairFrame(self.source_context_length, self.context_length, start=0, end=0))
        frames = [frame, *reversed(shorter)]
        return [batch_of(each.padding(), bucketed(batch_size, frame.tokens / each.tokens)) for each in frames]

    def frame(self, tokenizer: Tokenizer) -> PairFrame:
        """Return the row layout of a pair.

        Raises:
            UserError: the tokenizer lacks a special token.
        """
        frame = PairFrame.of(tokenizer, self.source_context_length, self.context_length, self.start)
        return frame.in_mode(tokenizer, self.mode)

    def _frames(self, frame: PairFrame) -> list[PairFrame]:
        """Return the frames of pairs by length, the longest last."""
        longest = max(self.source_context_length, self.context_length)
        return [*(frame.shorter(length) for length in self.buckets if length < longest), frame]

    @property
    @abstractmethod
    def _columns(self) -> tuple[str, str]:
        """Columns of the sources and of the targets."""

    @property
    def _key(self) -> Any:
        return 'pairs', self._columns, *self._added

    @property
    def _added(self) -> tuple[str, ...]:
        """Anything else on which the texts of pairs depend."""
        return ()

    def _make_processor(self, source: Records, cache: Path) -> Tokenizer:
        def of(tokenizer: Part[Trainer], sides: slice) -> Tokenizer:
            corpus = digest(source.digest, self._columns[sides], *self._added)
            return trained(tokenizer, lambda: self._texts(source.splits['train'], sides), corpus, cache)

        if self.source_tokenizer is None:
            return of(self.tokenizer, slice(0, 2))
        written = of(self.tokenizer, slice(1, 2))
        return Tokenizer(written.backend, of(self.source_tokenizer, slice(0, 1)), written.roles, written.file)

    def _texts(self, examples: RecordSource, sides: slice = slice(0, 2)) -> Iterator[str]:
        return itertools.chain.from_iterable(pair[sides] for pair in self._pairs(examples))

    def _pairs(self, records: RecordSource) -> Iterator[tuple[str, str]]:
        """Yield the texts of each pair, each read on demand.

        Raises:
            UserError: a value is not text; the message has its place.
        """
        for index in range(len(records)):
            record = records[index]
            for column in self._columns:
                if not isinstance(record[column], str):
                    raise UserError(f"{records.place(index)}: '{column}' is not text, but {record[column]!r}")
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
        """Return the indices of the pairs with two non-empty texts.

        Raises:
            UserError: a pair of the user's files has an empty text, or all pairs have.
        """
        filled = np.array([[bool(text.strip()) for text in column] for column in texts])
        empty = np.flatnonzero(~filled.all(axis=0))
        if len(empty):
            side = self._columns[int(np.flatnonzero(~filled[:, empty[0]])[0])]
            if not isinstance(records, DatasetRecords):
                raise UserError(f"{records.place(int(empty[0]))}: '{side}' is empty; a pair needs both texts")
            said = "%s: %d of %d pairs have an empty text and are skipped; the first is %s, '%s'"
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
        """Return some of the pairs."""
        tokens, texts = (
            tuple(Ragged(each.values, each.spans[chosen]) for each in sides) for sides in (self.tokens, self.texts)
        )
        return replace(self, tokens=tokens, texts=texts, record=self.record[chosen])

    def split(self, frames: Sequence[PairFrame], tokenizer: Tokenizer) -> PairSplit:
        """Build rows from the pairs, and log their problems; training pairs are also put in buckets.

        Args:
            frames: frames of pairs by length, the longest last.

        Raises:
            UserError: no training pair is short enough.
        """
        self._say_unknown(tokenizer)
        fitting = self._fitting(frames[-1])
        buckets = fitting._buckets(frames) if self.name == 'train' and len(frames) > 1 else ()
        return fitting._rows(frames[-1], tokenizer, buckets)

    @property
    def _sizes(self) -> np.ndarray:
        """Number of tokens of both sides, [pairs, 2]."""
        return np.stack([each.lengths for each in self.tokens], axis=-1)

    def _place(self, pair: int) -> str:
        return self.records.place(int(self.record[pair]))

    def _buckets(self, frames: Sequence[PairFrame]) -> tuple[Bucket, ...]:
        """Put each pair into the bucket of the first frame that fits both sides."""
        fits = [(self._sizes <= one.room).all(axis=-1) for one in frames]
        first = np.argmax(fits, axis=0)
        found = [(one, PairRows(one, *self.tokens, np.flatnonzero(first == n))) for n, one in enumerate(frames)]
        return tuple(Bucket(rows, frames[-1].tokens / one.tokens) for one, rows in found if len(rows))

    def _rows(self, frame: PairFrame, tokenizer: Tokenizer, buckets: tuple[Bucket, ...]) -> PairSplit:
        fits = (self._sizes <= frame.room).all(axis=-1)
        return PairSplit(
            rows=PairRows(frame, *self.tokens, np.arange(len(self.record))),
            buckets=buckets,
            targets=int((self.tokens[1].lengths + 1)[fits].sum()),  # plus the end token
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
            'training skips them' if training else 'they are evaluated, but such a source has an empty translation',
        )  # fmt: skip
        if training and len(long) == len(self.record):
            raise UserError(
                'data: no pair is short enough to train on; raise data.source_context_length and data.context_length'
            )
        return self.only(np.flatnonzero(~longer.any(axis=-1))) if training else self

    def _say_unknown(self, tokenizer: Tokenizer) -> None:
        for side, tokens, used in zip(_SIDES, self.tokens, (tokenizer.source, tokenizer), strict=True):
            unknown = np.flatnonzero(np.isin(tokens.values, [*used.unknown]))
            if len(unknown):
                pair = int(np.searchsorted(tokens.spans[:, 1], unknown[0], side='right'))
                said = '%s: %d of %d tokens of the %s are unknown to the tokenizer; the first is in %s'
                _LOG.warning(said, self.name, len(unknown), len(tokens.values), side, self._place(pair))
