# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of datasets of labelled texts or pairs of texts, as rows for an encoder.

A text that is too long for a row is cut into chunks, each a row of the same example. In a pair that is too long, the
longer text is truncated, as in BERT.
"""

import itertools
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from saccade.data.corpus.record_files import FileRecords, read_records
from saccade.data.corpus.records import Records, RecordSource, strings
from saccade.data.dataset_base import Arrays, BySplit
from saccade.data.encoder.record_base import FromRecords
from saccade.data.rows.frame import RowFrame
from saccade.data.rows.ragged import Ragged, encoded, truncated, windows
from saccade.data.split import Row, Split
from saccade.data.tokenizer.tokenizer import Tokenizer
from saccade.types import UserError


@dataclass(frozen=True, eq=False)
class ExampleRows:
    """Rows of examples, built lazily.

    Attributes:
        texts: tokens of the first text in each row, and of the second if there are two.
        example: [rows], index of the example.
        answers: [examples], labels.
        answer: name of the label in a row.
        blank: a row of padding.
    """

    frame: RowFrame
    texts: tuple[Ragged, ...]
    example: np.ndarray
    answers: np.ndarray
    answer: str
    blank: Row

    def __len__(self) -> int:
        return len(self.example)

    def __getitem__(self, row: int) -> Row:
        example = self.example[row]
        said = {self.answer: self.answers[example], 'example': np.int32(example)}
        return self.frame.row(*(text[row] for text in self.texts)) | said

    def padding(self) -> Row:
        """Return a row of padding."""
        return self.blank


@dataclass(frozen=True, eq=False, kw_only=True)
class ExampleSplit(Split):
    """Split of labelled examples. Attributes: names of the classes, if the labels are classes."""

    rows: ExampleRows
    names: tuple[str, ...] = ()

    @property
    def answers(self) -> np.ndarray:
        """Labels, one per example."""
        return self.rows.answers


@dataclass(frozen=True, kw_only=True)
class Examples(FromRecords):
    """Base of labelled texts or pairs of texts.

    Attributes:
        text: column of the text.
        pair: column of a second text.
    """

    text: str
    pair: str | None = None

    answer: ClassVar[str]  # name of the label in a row, and of the field that has its column
    padding_label: ClassVar[np.generic]  # label of padding

    def __post_init__(self) -> None:
        if self.pair is not None and self.overlap:
            raise UserError('data.overlap: pairs of texts are truncated and have no chunks; set it to 0')
        super().__post_init__()

    @property
    def inputs(self) -> dict[str, str]:
        """Column of each text of a record: `text`, and `pair` if there are two."""
        return dict(zip(('text', 'pair'), self._columns, strict=False))

    @property
    def example(self) -> dict[str, str]:
        """Sample text for each input, for the example commands that a run prints."""
        texts = getattr(self.tokenizer(), 'examples', ('A film like no other.', 'I have seen nothing like it.'))
        return dict(zip(self.inputs, texts, strict=False))

    def read(self, path: Path) -> FileRecords:
        """Read a file of records; labels are optional."""
        return read_records(path, self._columns)

    def unanswered(self, records: RecordSource, names: tuple[str, ...], tokenizer: Tokenizer) -> ExampleSplit:
        """Return the rows of unlabelled records; `names` are the names of the classes, if there are any.

        Raises:
            UserError: a value is not text, or the tokenizer cannot encode a character.
        """
        labels = {self.answer: np.full(len(records), self.padding_label), 'names': np.array(names)}
        return self._split(labels | self._tokens(records, tokenizer), self.frame(tokenizer))

    @abstractmethod
    def _labels_by_split(self, records: Records) -> dict[str, dict[str, np.ndarray]]:
        """Return, for each split, the labels under their name, and `names` if they are classes."""

    @property
    def _columns(self) -> tuple[str, ...]:
        return (self.text,) if self.pair is None else (self.text, self.pair)

    @property
    def _answers(self) -> tuple[str, ...]:
        return (getattr(self, self.answer),)

    @property
    def _key(self) -> Any:
        return self.answer, self._columns, self._answers

    def _texts(self, examples: RecordSource) -> Iterator[str]:
        return itertools.chain.from_iterable(strings(examples, column) for column in self._columns)

    def _arrays(self, source: Records, tokenizer: Tokenizer) -> BySplit:
        labels = self._labels_by_split(source)
        return {name: labels[name] | self._tokens(records, tokenizer) for name, records in source.splits.items()}

    def _tokens(self, records: RecordSource, tokenizer: Tokenizer) -> dict[str, np.ndarray]:
        texts = [encoded(list(strings(records, column)), tokenizer) for column in self._columns]
        for index in np.flatnonzero(self.frame(tokenizer).empty(*(lengths for _, lengths in texts))):
            raise UserError(f'{records.place(int(index))}: a text has no tokens; fill it in, or leave the example out')
        arrays: dict[str, np.ndarray] = {}
        for number, (tokens, lengths) in enumerate(texts):
            arrays |= {f'tokens{number}': tokens, f'lengths{number}': lengths}
        return arrays

    def _split(self, arrays: Arrays, frame: RowFrame) -> ExampleSplit:
        numbers = range(len(self._columns))
        texts = [Ragged.of(arrays[f'tokens{number}'], arrays[f'lengths{number}']) for number in numbers]
        example, texts = self._cut(texts, frame.room(len(texts)))
        rows = ExampleRows(frame, tuple(texts), example, arrays[self.answer], self.answer, self._padding(frame))
        names = tuple(np.asarray(arrays.get('names', ())).tolist())
        return ExampleSplit(rows=rows, targets=len(rows.answers), unit='examples', names=names)

    def _padding(self, frame: RowFrame) -> Row:
        return frame.padding() | {self.answer: self.padding_label, 'example': np.int32(-1)}

    def _cut(self, texts: Sequence[Ragged], room: int) -> tuple[np.ndarray, list[Ragged]]:
        """Cut texts into rows: return the example of each row, and the tokens of each text in it."""
        if self.pair is None:
            example, spans = windows(texts[0].lengths, room, self.overlap)
            return example, [texts[0].cut(example, spans)]
        example = np.arange(len(texts[0]))
        lengths = truncated(texts[0].lengths, texts[1].lengths, room)
        spans = (np.stack([np.zeros_like(length), length], axis=-1) for length in lengths)
        return example, [text.cut(example, span) for text, span in zip(texts, spans, strict=True)]
