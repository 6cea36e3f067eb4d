# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of datasets of texts or pairs of texts with one label each, as rows for an encoder.

A text that is too long for a row is cut into chunks, each of them a row of the same example. Of a pair that is too long
the longer text is cut off, as BERT does.
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
from saccade.data.rows.ragged import Ragged, encoded, require_windows, truncated, windows
from saccade.data.split import Row, Split
from saccade.data.tokenizer.tokenizer import Tokenizer
from saccade.types import UserError


@dataclass(frozen=True, eq=False)
class ExampleRows:
    """Rows of examples, made lazily.

    Attributes:
        texts: what stands in each row of the first text, and of the second if there are two.
        example: [rows], the number of the example.
        answers: [examples], what is to be said of each.
        answer: the answers' name in a row.
        blank: the row of padding.
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
        """A row of which nothing counts."""
        return self.blank


@dataclass(frozen=True, eq=False, kw_only=True)
class ExampleSplit(Split):
    """Split of labelled examples. Attributes: names of the classes, where the answers are classes."""

    rows: ExampleRows
    names: tuple[str, ...] = ()

    @property
    def answers(self) -> np.ndarray:
        """What is to be said of each example."""
        return self.rows.answers


@dataclass(frozen=True, kw_only=True)
class Examples(FromRecords):
    """Base of texts or pairs of texts with one label each.

    Attributes:
        text: the column of the text.
        pair: that of a second text.
    """

    text: str
    pair: str | None = None

    answer: ClassVar[str]  # what is said of an example, in its row; the field of this name is the column
    unsaid: ClassVar[np.generic]  # what is said of padding

    def __post_init__(self) -> None:
        if self.pair is not None and self.overlap:
            raise UserError('data.overlap: pairs of texts are cut off and have no chunks; set it to 0')
        require_windows(self._frame().room(len(self._columns)), self.overlap)

    @property
    def inputs(self) -> dict[str, str]:
        """The column of each text of a record: of `text`, and of `pair` where there are two."""
        return dict(zip(('text', 'pair'), self._columns, strict=False))

    @property
    def example(self) -> dict[str, str]:
        """A sample text for each input, as the commands that a run prints need one."""
        texts = getattr(self.tokenizer(), 'examples', ('A film like no other.', 'I have seen nothing like it.'))
        return dict(zip(self.inputs, texts, strict=False))

    def read(self, path: Path) -> FileRecords:
        """Read a file of records, which need have no answers."""
        return read_records(path, self._columns)

    def unanswered(self, records: RecordSource, names: tuple[str, ...], tokenizer: Tokenizer) -> ExampleSplit:
        """Return the rows of records whose answers are not known; `names` are those of the classes, if there are any.

        Raises:
            UserError: a text is none, or the tokenizer lacks one of its characters.
        """
        unsaid = {self.answer: np.full(len(records), self.unsaid), 'names': np.array(names)}
        return self._split(unsaid | self._tokens(records, tokenizer), self.frame(tokenizer))

    @abstractmethod
    def _said(self, records: Records) -> dict[str, dict[str, np.ndarray]]:
        """Return, for each split, the answers under their name, and `names` where they are classes."""

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
        said = self._said(source)
        return {name: said[name] | self._tokens(records, tokenizer) for name, records in source.splits.items()}

    def _tokens(self, records: RecordSource, tokenizer: Tokenizer) -> dict[str, np.ndarray]:
        arrays: dict[str, np.ndarray] = {}
        for number, column in enumerate(self._columns):
            tokens, lengths = encoded(list(strings(records, column)), tokenizer)
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
        return frame.padding() | {self.answer: self.unsaid, 'example': np.int32(-1)}

    def _cut(self, texts: Sequence[Ragged], room: int) -> tuple[np.ndarray, list[Ragged]]:
        """Cut texts into rows: return the example of each row, and the tokens of each text in it."""
        if self.pair is None:
            example, spans = windows(texts[0].lengths, room, self.overlap)
            return example, [texts[0].cut(example, spans)]
        example = np.arange(len(texts[0]))
        lengths = truncated(texts[0].lengths, texts[1].lengths, room)
        spans = (np.stack([np.zeros_like(length), length], axis=-1) for length in lengths)
        return example, [text.cut(example, span) for text, span in zip(texts, spans, strict=True)]
