# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
r"""Files of rows with a text each, by their endings: read row by row, plain or gzipped (.gz), whatever their size.

    .jsonl        an object with a field of text per line: {"text": "A document.\nIts second line.", "url": "..."}
    .json         the same, or one array of such objects
    .csv, .tsv    as in `record_files`
    .parquet      a column of strings
    .fasta, .faa  one protein per header, as in `fasta`

Text is UTF-8. A row is read again from its place: its first byte, or its number in a Parquet file. In gzipped and in
Parquet files, that is fast only in ascending order.
"""

import bisect
import codecs
import functools
import gzip
import io
import itertools
import json
import re
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from saccade.data.corpus.document import TextDocument
from saccade.data.corpus.fasta import ENDINGS as PROTEINS
from saccade.data.corpus.fasta import proteins, without_nucleotides
from saccade.data.corpus.files import state_of, text_of_line
from saccade.data.corpus.record_files import (
    DIALECTS,
    fields_of,
    json_record,
    names_of,
    require_columns,
    separated_rows,
)
from saccade.progress import counted
from saccade.types import UserError

_PACKED = '.gz'
_LONGEST = 1 << 30  # bytes of a line or an element
_CHUNK = 1 << 16  # bytes per read of an array
_BATCH = 16  # rows of a Parquet file that are in memory
_MIB = 1 << 20
_BLANK = re.compile(r'[ \t\r\n]*')
_DECODER = json.JSONDecoder()


class Row(NamedTuple):
    """Row of a file.

    Attributes:
        place: its first byte, or its number from 0.
        line: its first line, or its number, from 1.
        content: the row as the file has it.
    """

    place: int
    line: int
    content: Any


@dataclass(eq=False)
class RowFile(ABC):
    """File of rows.

    Attributes:
        column: field with the text.
        changed: size [bytes] and time of the last change [ns] when the file was first seen.
    """

    path: Path
    column: str
    changed: tuple[int, int] = field(init=False)

    unit: ClassVar[str] = 'line'  # of a place in a message

    def __post_init__(self) -> None:
        self.changed = state_of(self.path)

    def document(self, place: int, line: int) -> TextDocument:
        """Read the row at a place, which `rows` has returned.

        Raises:
            UserError: the row has no text, or the file has changed.
        """
        if state_of(self.path) != self.changed:
            raise UserError(f'{self.path}: changed while it was being read; run again')
        text = self.text(self.row(place, line), f'{self.path}, {self.unit} {line}')
        if not isinstance(text, str):
            raise UserError(f"{self.path}, {self.unit} {line}: '{self.column}' is not a string, as a document must be")
        return TextDocument(id=f'{self.path.name}:{line}', text=text)

    @abstractmethod
    def rows(self) -> Iterator[Row]:
        """Yield all rows, and count them for the progress display.

        Raises:
            UserError: the file is malformed, or has no such column.
        """

    @abstractmethod
    def row(self, place: int, line: int) -> Row:
        """Return the row at a place."""

    @abstractmethod
    def key(self, row: Row) -> bytes:
        """Return the bytes of a row that its hash is of."""

    @abstractmethod
    def text(self, row: Row, place: str) -> Any:
        """Return the field with the text; the place is for messages."""

    @abstractmethod
    def close(self) -> None:
        """Close what is open between rows; a later row opens it again."""


@dataclass(eq=False)
class ByteFile(RowFile):
    """File whose rows are ranges of its bytes, unpacked."""

    _unpacked: io.BufferedIOBase | None = field(default=None, init=False)  # opened again, it would start again

    def rows(self) -> Iterator[Row]:
        """Yield all rows, and count MiB for the progress display."""
        total = None if self._is_packed else -(-self.changed[0] // _MIB)
        with self.opened() as stream:
            rows = self.parsed(stream, 0, 1)
            yield from counted(rows, f'reading {self.path.name}', total, 'MiB', lambda row: row.place // _MIB)

    def row(self, place: int, line: int) -> Row:
        """Return the row that begins with a byte."""
        if self._is_packed:
            self._unpacked = self._unpacked or self.opened()
        with nullcontext(self._unpacked) if self._is_packed else self.opened() as stream:
            stream.seek(place)
            return next(self.parsed(stream, place, line))

    @abstractmethod
    def parsed(self, stream: io.BufferedIOBase, place: int, line: int) -> Iterator[Row]:
        """Yield the rows of a stream from its current place on."""

    def close(self) -> None:
        """Close the unpacked stream."""
        if self._unpacked:
            self._unpacked.close()
            self._unpacked = None

    def opened(self) -> io.BufferedIOBase:
        """Open the file, unpacked."""
        return gzip.open(self.path) if self._is_packed else self.path.open('rb')

    @property
    def _is_packed(self) -> bool:
        return self.path.name.lower().endswith(_PACKED)


@dataclass(eq=False)
class _Lines:
    """Lines of a stream, each with a newline at its end.

    Attributes: place, first byte of the next line; number, its number from 1; begin, first byte of the current line.
    """

    stream: io.BufferedIOBase
    path: Path
    place: int
    number: int
    begin: int = 0

    def bytes(self) -> Iterator[bytes]:
        for line in iter(functools.partial(self.stream.readline, _LONGEST), b''):
            if len(line) == _LONGEST:
                raise UserError(f'{self.path}, line {self.number}: has more than {_LONGEST} bytes')
            self.begin, self.place, self.number = self.place, self.place + len(line), self.number + 1
            yield line

    def text(self) -> Iterator[str]:
        return (f'{text_of_line(line, self.path, self.number - 1)}\n' for line in self.bytes())


class JsonLines(ByteFile):
    """JSON lines. The content of a row is its bytes, parsed when the text is needed."""

    def parsed(self, stream: io.BufferedIOBase, place: int, line: int) -> Iterator[Row]:
        """Yield the lines that are not blank."""
        lines = _Lines(stream, self.path, place, line)
        for content in lines.bytes():
            if not content.isspace():
                yield Row(lines.begin, lines.number - 1, content)

    def key(self, row: Row) -> bytes:
        """Return the bytes of the line."""
        return row.content

    def text(self, row: Row, place: str) -> Any:
        """Return the field of the object."""
        record = json_record(text_of_line(row.content, self.path, row.line), place)
        require_columns(place, (self.column,), record)
        return record[self.column]


class JsonArray(JsonLines):
    """Array of JSON objects."""

    def parsed(self, stream: io.BufferedIOBase, place: int, line: int) -> Iterator[Row]:
        """Yield the elements, from the start of the file or from an element on."""
        rest = _Characters(stream, place, line)
        if not place:
            rest.begin('[')
        while rest.sign() != ']':
            yield Row(rest.place, rest.line, self._element(rest))
            if rest.sign() == ',':
                rest.drop(1)
            elif rest.sign() != ']':
                raise UserError(f"{self.path}, line {rest.line}: is not JSON: ',' or ']' is expected")
        rest.drop(1)
        if rest.sign():
            raise UserError(f'{self.path}, line {rest.line}: is not JSON: the array has ended before')

    def _element(self, rest: '_Characters') -> bytes:
        while True:
            try:
                return rest.drop(_DECODER.raw_decode(rest.text)[1]).encode('latin-1')
            except (ValueError, RecursionError) as error:
                if len(rest.text) > _LONGEST or not rest.more():
                    raise UserError(f'{self.path}, line {rest.line}: is not JSON ({error})') from error


@dataclass(eq=False)
class _Characters:
    """Bytes of a stream as characters of Latin-1, which are one byte each: JSON's signs are in ASCII.

    Attributes: text, characters read but not used; place and line of its first one.
    """

    stream: io.BufferedIOBase
    place: int
    line: int
    text: str = ''

    def more(self) -> bool:
        """Read as much again; False at the end of the stream."""
        chunk = self.stream.read(max(_CHUNK, len(self.text))).decode('latin-1')
        self.text += chunk
        return bool(chunk)

    def begin(self, sign: str) -> None:
        """Drop all up to the first sign of this kind."""
        while sign not in self.text and self.more():
            pass
        self.drop(self.text.find(sign) + 1)

    def sign(self) -> str:
        """Drop white space, and return the next character; '' at the end of the stream."""
        while True:
            self.drop(_BLANK.match(self.text).end())
            if self.text or not self.more():
                return self.text[:1]

    def drop(self, count: int) -> str:
        """Remove characters from the start, and return them."""
        dropped, self.text = self.text[:count], self.text[count:]
        self.place, self.line = self.place + count, self.line + dropped.count('\n')
        return dropped


class Separated(ByteFile):
    """Fields separated by commas or tabs. The content of a row is its fields."""

    _names: Sequence[str]  # of the columns, once `rows` has read the first line

    def parsed(self, stream: io.BufferedIOBase, place: int, line: int) -> Iterator[Row]:
        """Yield the rows after the line of names, if there is one, or from a row on."""
        lines = _Lines(stream, self.path, place, line)
        rows = separated_rows(lines.text(), self.path, DIALECTS[ending_of(self.path)])
        if not place:
            first = next(rows, (0, []))[1]
            self._names, named = names_of(first, (self.column,), self.path)
            if not named:
                yield Row(0, 1, first)
        begin, number = lines.place, lines.number
        for last, fields in rows:
            yield Row(begin, number, fields_of(fields, self._names, f'{self.path}, line {last}'))
            begin, number = lines.place, lines.number

    def key(self, row: Row) -> bytes:
        """Return the fields as JSON."""
        return json.dumps(row.content).encode()

    def text(self, row: Row, place: str) -> str:
        """Return the field of the column."""
        return row.content[self._names.index(self.column)]


class Fasta(ByteFile):
    """Proteins. The content of a row is its record; the text is the sequence, whatever the column."""

    def rows(self) -> Iterator[Row]:
        """Yield all proteins, and count MiB for the progress display."""
        return without_nucleotides(super().rows(), self.path)

    def parsed(self, stream: io.BufferedIOBase, place: int, line: int) -> Iterator[Row]:
        """Yield the proteins from a header on."""
        lines, headers = _Lines(stream, self.path, place, line), deque()

        def numbered() -> Iterator[tuple[int, str]]:
            for text in lines.text():
                if text.startswith('>'):
                    headers.append(lines.begin)
                yield lines.number - 1, text.removesuffix('\n')

        for number, protein in proteins(numbered(), self.path):
            yield Row(headers.popleft(), number, protein)

    def key(self, row: Row) -> bytes:
        """Return the sequence: equal ones are in one split, whatever their headers."""
        return row.content['sequence'].encode()

    def text(self, row: Row, place: str) -> str:
        """Return the sequence."""
        return row.content['sequence']


@dataclass(eq=False)
class Parquet(RowFile):
    """Column of a Parquet file, as of Hugging Face `datasets`. The content of a row is its text, or None.

    Pages of the column are read one after another, so that a group of rows may be larger than memory.
    """

    _reading: Iterator[Row] = field(default_factory=lambda: iter(()), init=False)
    _next: int = field(default=-1, init=False)  # number of the next row of `_reading`

    unit: ClassVar[str] = 'row'

    def rows(self) -> Iterator[Row]:
        """Yield all rows, and count them for the progress display."""
        import pyarrow

        try:
            self._require_text()
            yield from counted(self._from(0), f'reading {self.path.name}', self._file.metadata.num_rows, 'rows')
        except (pyarrow.ArrowException, UnicodeDecodeError) as error:
            raise UserError(f'{self.path}: cannot be read as Parquet ({str(error).partition(chr(10))[0]})') from error

    def row(self, place: int, line: int) -> Row:
        """Return the row with a number. If it is not ahead, or in a later group, its group is read from the start."""
        group = bisect.bisect_right(self._starts, place) - 1
        if not self._starts[group] <= self._next <= place:
            self._reading = self._from(group)
        for row in self._reading:
            if row.place == place:
                self._next = place + 1
                return row
        raise IndexError(f'row {place} of {self.path}')

    def key(self, row: Row) -> bytes:
        """Return the text."""
        return (row.content or '').encode()

    def text(self, row: Row, place: str) -> str | None:
        """Return the text, or None."""
        return row.content

    def close(self) -> None:
        """Close the file."""
        if '_file' in self.__dict__:
            self._file.close()
            del self._file
        self._reading, self._next = iter(()), -1

    @functools.cached_property
    def _file(self) -> 'pyarrow.parquet.ParquetFile':
        import pyarrow.parquet

        return pyarrow.parquet.ParquetFile(self.path, buffer_size=_MIB, pre_buffer=False)

    @functools.cached_property
    def _starts(self) -> list[int]:
        """First row of each group, and the number of all rows."""
        metadata = self._file.metadata
        counts = (metadata.row_group(number).num_rows for number in range(metadata.num_row_groups))
        return [*itertools.accumulate(counts, initial=0)]

    def _require_text(self) -> None:
        import pyarrow

        schema = self._file.schema_arrow
        require_columns(str(self.path), (self.column,), schema.names)
        kind = schema.field(self.column).type
        strings = pyarrow.string(), pyarrow.large_string()
        if (kind.value_type if pyarrow.types.is_dictionary(kind) else kind) not in strings:
            raise UserError(f"{self.path}: the column '{self.column}' has values of type {kind}, not strings")

    def _from(self, group: int) -> Iterator[Row]:
        groups = range(group, self._file.metadata.num_row_groups)
        numbers = itertools.count(self._starts[group])
        for batch in self._file.iter_batches(_BATCH, groups, [self.column], use_threads=False):
            for text, number in zip(batch.column(0).to_pylist(), numbers, strict=False):  # numbers go on
                yield Row(number, number + 1, text)


def _json(path: Path, column: str) -> RowFile:
    """Return a .json file: an array, if its first sign is a bracket, or else lines."""
    lines = JsonLines(path, column)
    with lines.opened() as stream:
        begins = stream.read(_CHUNK).removeprefix(codecs.BOM_UTF8).lstrip()
    return JsonArray(path, column) if begins.startswith(b'[') else lines


_FORMATS: Mapping[str, Callable[[Path, str], RowFile]] = {
    '.jsonl': JsonLines,
    '.json': _json,
    '.csv': Separated,
    '.tsv': Separated,
    '.parquet': Parquet,
    **dict.fromkeys(PROTEINS, Fasta),
}


ENDINGS = frozenset(_FORMATS)


def ending_of(path: Path) -> str:
    """Return the ending of a file of rows, such as '.csv'; '' for any other file."""
    suffix = Path(path.name.lower().removesuffix(_PACKED)).suffix
    return suffix if suffix in _FORMATS else ''


def open_rows(path: Path, column: str) -> RowFile:
    """Open a file of rows by its ending.

    Raises:
        OSError: there is no such file.
    """
    return _FORMATS[ending_of(path)](path, column)
