# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Records in files: CSV, TSV, JSON lines, the columns of CoNLL, and FASTA, plain or gzipped (.gz), text as in `files`.

    .csv          fields by the names in the first line; or by '0', '1', ... if all requested columns are such numbers,
                  and then there is no header line
    .tsv          the same separated by tabs; a quotation mark is an ordinary character, as in GLUE's files
    .jsonl        one object per line
    .conll, .txt  one word per line, with its tag last, and an empty line after each sentence: 'tokens' and 'tags'.
                  Columns are separated by tabs or else by spaces, and every line has the same number. A line before a
                  sentence that begins with # and a space is a comment, unless a word elsewhere has the same number of
                  columns and the same last one
    .fasta, .faa  one protein per header: 'id', 'description' and 'sequence', as in `fasta`

The format of .conll files is that of E. Tjong Kim Sang and F. De Meulder, 2003, https://aclanthology.org/W03-0419/.
"""

import csv
import difflib
import hashlib
import io
import itertools
import json
import logging
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from saccade.data.cache import digest
from saccade.data.corpus.fasta import COLUMNS, ENDINGS, proteins, without_nucleotides
from saccade.data.corpus.files import content_of, decoded
from saccade.nearest import listed
from saccade.paths import missing
from saccade.types import UserError

_LOG = logging.getLogger(__name__)

Record = Mapping[str, Any]
Numbered = Iterator[tuple[int, Record]]

_LONGEST = 1 << 30  # characters per field; csv's default of 131,072 is shorter than a book
_BETWEEN_DOCUMENTS = '-DOCSTART-'
# Arguments of csv.reader by ending.
DIALECTS: Mapping[str, Mapping[str, Any]] = {
    '.csv': {'strict': True},
    '.tsv': {'delimiter': '\t', 'quoting': csv.QUOTE_NONE},
}


class MissingColumnError(UserError):
    """Error for a file that lacks a requested column. Attributes: column, its name."""

    def __init__(self, message: str, column: str) -> None:
        super().__init__(message)
        self.column = column


@dataclass(frozen=True, eq=False)
class FileRecords(Sequence[Record]):
    """Records of a file.

    Attributes:
        lines: line number of each record, from 1: its last line, or the first line of a sentence.
        digest: changes with any record.
    """

    path: Path
    digest: str
    records: Sequence[Record]
    lines: Sequence[int]

    def __len__(self) -> int:
        return len(self.records)

    def __getitem__(self, index: int) -> Record:
        return self.records[index]

    def place(self, index: int) -> str:
        """Return the place of a record, for messages."""
        return f'{self.path}, line {self.lines[index]}'

    def only(self, chosen: Sequence[bool]) -> 'FileRecords':
        """Return the records with a True flag."""
        records, lines = (list(itertools.compress(all, chosen)) for all in (self.records, self.lines))
        return replace(self, records=records, lines=lines)


def format_of(path: Path) -> str:
    """Return the file's ending if records can be read from it, otherwise ''."""
    suffix = Path(path.name.lower().removesuffix('.gz')).suffix
    return suffix if suffix in FORMATS else ''


def read_records(path: Path, columns: Sequence[str]) -> FileRecords:
    """Read a file of records.

    Args:
        columns: required columns.

    Raises:
        MissingColumnError: a column is missing.
        UserError: the file is missing or cannot be read, its ending is unknown, a line is malformed, two columns have
            the same name, or there are no records.
    """
    if not path.exists():
        raise missing(path)
    if not format_of(path):
        raise UserError(f'{path}: records are read from files ending in {", ".join(FORMATS)}, optionally with .gz')
    content = content_of(path)
    numbered = list(FORMATS[format_of(path)](decoded(content, path), path, columns))
    if not numbered:
        raise UserError(f'{path}: has no records')
    if _unnamed(columns) and _is_header([record for _, record in numbered], columns):
        told = ', '.join(f'{number} is {numbered[0][1][number]!r}' for number in columns)
        _LOG.warning(
            '%s, line 1: is read as a record, since columns are given by number; if it is a header, give the '
            'names: column %s',
            path,
            told,
        )
    name = digest(format_of(path), hashlib.sha256(content).hexdigest(), _unnamed(columns))
    return FileRecords(path, name, [record for _, record in numbered], [line for line, _ in numbered])


def require_columns(place: str, columns: Sequence[str], there: Collection[str]) -> None:
    """Check that records have all requested columns.

    Raises:
        MissingColumnError: a column is missing; the message lists those that exist.
    """
    for column in columns:
        if column not in there:
            match = difflib.get_close_matches(column, there, n=1, cutoff=0.5)
            meant = f"; did you mean '{match[0]}'?" if match else ';'
            there = listed(there, column) or 'none'
            raise MissingColumnError(f"{place}: has no column '{column}'{meant} it has {there}", column)


def _require_apart(place: str, names: Iterable[str]) -> None:
    """Check that column names are unique, since only one of two equal ones could be read."""
    for name, count in Counter(names).items():
        if count > 1:
            raise UserError(f"{place}: {count} columns are named '{name}'; names must be unique")


def _separated(text: str, path: Path, columns: Sequence[str]) -> Numbered:
    rows = separated_rows(io.StringIO(text, newline='\n'), path, DIALECTS[format_of(path)])
    first = next(rows, (1, []))
    names, named = names_of(first[1], columns, path)
    for number, row in rows if named else itertools.chain([first], rows):
        yield number, dict(zip(names, fields_of(row, names, f'{path}, line {number}'), strict=True))


def separated_rows(lines: Iterable[str], path: Path, dialect: Mapping[str, Any]) -> Iterator[tuple[int, list[str]]]:
    """Yield the fields of each row that is not empty, with the number of its last line.

    Raises:
        UserError: a row is malformed.
    """
    csv.field_size_limit(_LONGEST)
    reader = csv.reader(lines, **dialect)
    try:
        for row in filter(None, reader):
            yield reader.line_num, row
    except csv.Error as error:
        raise UserError(f'{path}, line {reader.line_num}: {error}') from error


def names_of(first: Sequence[str], columns: Sequence[str], path: Path) -> tuple[Sequence[str], bool]:
    """Return the names of the columns of a file with this first row, and True if the row has them.

    Raises:
        MissingColumnError: a requested column is missing.
        UserError: two columns have the same name.
    """
    named = not _unnamed(columns)
    names = first if named else [str(number) for number in range(len(first))]
    require_columns(str(path), columns, names)
    _require_apart(str(path), filter(None, names))
    return names, named


def fields_of(row: list[str], names: Sequence[str], place: str) -> list[str]:
    """Return the fields of a row; raise a UserError unless there is one for each name."""
    if len(row) != len(names):
        raise UserError(f'{place}: {len(row)} fields, but the first line has {len(names)}')
    return row


def _is_header(records: Sequence[Record], columns: Sequence[str]) -> bool:
    """Return True if each field of the first record is one word, which no other record has in that column."""
    first, *rest = records
    words = all(isinstance(first[column], str) and first[column].isidentifier() for column in columns)
    return bool(rest) and words and not any(record[column] == first[column] for column in columns for record in rest)


def _unnamed(columns: Sequence[str]) -> bool:
    return bool(columns) and all(column.isascii() and column.isdigit() for column in columns)


def _json_lines(text: str, path: Path, columns: Sequence[str]) -> Numbered:
    for number, line in enumerate(text.split('\n'), start=1):
        if line.strip():
            place = f'{path}, line {number}'
            record = json_record(line, place)
            require_columns(place, columns, record)
            yield number, record


def json_record(line: str, place: str) -> Record:
    """Return the JSON object in a line.

    Raises:
        UserError: it is not one, or a name occurs twice.
    """

    def unambiguous(fields: list[tuple[str, Any]]) -> Record:
        _require_apart(place, (name for name, _ in fields))
        return dict(fields)

    try:
        record = json.loads(line, object_pairs_hook=unambiguous)
        require_characters(record, place)
    except json.JSONDecodeError as error:
        raise UserError(f'{place}: is not JSON: {error.msg} at character {error.pos + 1}') from error
    except (ValueError, RecursionError) as error:  # a number with thousands of digits; deeply nested brackets
        raise UserError(f'{place}: cannot be read as JSON: {error}') from error
    if not isinstance(record, dict):
        raise UserError(f'{place}: is not a JSON object, as in {{"text": "...", "label": "..."}}')
    return record


def require_characters(record: Any, place: str) -> None:
    r"""Check that JSON has no lone surrogate such as \ud800, which no tokenizer can encode.

    Raises:
        UserError: it has one.
    """
    try:
        json.dumps(record, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = error.object[error.start]
        raise UserError(f'{place}: has the lone surrogate {half!r}, which is not text') from None


def _words(text: str, path: Path, columns: Sequence[str]) -> Numbered:
    require_columns(str(path), columns, ('tokens', 'tags'))
    sentences = _sentences(text)
    if sentences and all(_are_numbered(words) for words in sentences):
        raise UserError(f'{path}: the first column is a word number; it must be the word, and the last column its tag')
    width = len(sentences[0][0].fields) if sentences else 0
    for words in sentences:
        for number, fields in words:
            place = f'{path}, line {number}'
            if len(fields) < 2:
                raise UserError(f"{place}: '{fields[0]}' is one column; a word and its tag are expected")
            if len(fields) != width:
                raise UserError(f'{place}: {len(fields)} columns, but the first word of the file has {width}')
        tokens, tags = ([fields[column] for _, fields in words] for column in (0, -1))
        yield words[0].number, {'tokens': tokens, 'tags': tags}


class _Word(NamedTuple):
    """Line of a word. Attributes: its line number, from 1; its columns."""

    number: int
    fields: list[str]


def _sentences(text: str) -> list[list[_Word]]:
    """Return the words of each sentence, without comments."""
    runs = itertools.groupby(enumerate(text.split('\n'), start=1), _is_word)
    found = [[_Word(number, _fields(line)) for number, line in lines] for is_word, lines in runs if is_word]
    opened = [len(list(itertools.takewhile(_may_comment, words))) for words in found]
    endings = {_ending(word) for words, count in zip(found, opened, strict=True) for word in words[count:]}
    kept = [
        [word for word in words[:count] if _ending(word) in endings] + words[count:]
        for words, count in zip(found, opened, strict=True)
    ]
    return [words for words in kept if words]


def _may_comment(word: _Word) -> bool:
    return word.fields[0] == '#' or word.fields[0].startswith('# ')


def _ending(word: _Word) -> tuple[int, str]:
    return len(word.fields), word.fields[-1]


def _are_numbered(words: list[_Word]) -> bool:
    return [word.fields[0] for word in words] == [str(number) for number in range(1, len(words) + 1)]


def _proteins(text: str, path: Path, columns: Sequence[str]) -> Numbered:
    require_columns(str(path), columns, COLUMNS)
    return without_nucleotides(proteins(enumerate(text.split('\n'), start=1), path), path)


def _is_word(numbered: tuple[int, str]) -> bool:
    return bool(numbered[1].strip()) and not numbered[1].startswith(_BETWEEN_DOCUMENTS)


def _fields(line: str) -> list[str]:
    """Return the columns of a line, separated by tabs or, without any, by spaces."""
    line = line.strip('\t ')
    return [field.strip(' ') for field in line.split('\t')] if '\t' in line else re.split(' +', line)


FORMATS: Mapping[str, Callable[[str, Path, Sequence[str]], Numbered]] = {
    **dict.fromkeys(DIALECTS, _separated),
    '.jsonl': _json_lines,
    '.conll': _words,
    '.txt': _words,
    **dict.fromkeys(ENDINGS, _proteins),
}
