# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
r"""Text in JSON lines (.jsonl), an object with a field of text per line, in a file or a folder of files.

    {"text": "A document.\nIts second line.", "url": "..."}

Each line is a document. The files may be larger than memory, which holds only the places of the lines, 24 bytes each:
a document is read when it is needed. The documents of a folder are split by its files if they are named train.jsonl and
validation.jsonl, valid.jsonl or val.jsonl, and test.jsonl; otherwise a hash of each line decides. Text is UTF-8.
"""

import hashlib
import itertools
import logging
import os
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from saccade.data.cache import digest
from saccade.data.corpus.document import Document, drawn, lowest
from saccade.data.corpus.files import text_of_line, visible_files
from saccade.data.corpus.record_files import json_record, require_columns
from saccade.data.corpus.text_files import named_splits
from saccade.progress import counted
from saccade.types import UserError

ENDING = '.jsonl'
_PACKED = '.gz'
_MIB = 1 << 20
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class JsonTexts(Sequence[Document]):
    """Documents in the lines of files, read when they are indexed.

    Attributes:
        files: the files, as they were when their lines were counted.
        column: field with the text.
        places: [documents, 3], number of the file, first byte of the line, and its number from 1.
    """

    files: Sequence['_File']
    column: str
    places: np.ndarray

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, index: int) -> Document:
        number, start, line = self.places[index].tolist()
        file = self.files[number]
        place = f'{file.path}, line {line}'
        record = json_record(text_of_line(file.line(start), file.path, line), place)
        require_columns(place, (self.column,), record)
        if not isinstance(record[self.column], str):
            raise UserError(f"{place}: '{self.column}' is not a string, but a document is expected")
        return Document(id=f'{file.path.name}:{line}', text=record[self.column])


def read_json_lines(path: Path, column: str, validation: float) -> tuple[dict[str, JsonTexts], str]:
    """Return the documents of a file or a folder by split, and a digest of them.

    Args:
        column: field with the text.
        validation: fraction of documents for validation, if the files do not name the splits.

    Raises:
        UserError: a file cannot be read, or a split has no documents.
    """
    paths = _those_in(path) if path.is_dir() else [path]
    named = named_splits(path, paths, ENDING) if path.is_dir() else {}
    files = [_scanned(file) for file in (itertools.chain(*named.values()) if named else paths)]
    places = np.concatenate([file.places(number) for number, file in enumerate(files)])
    if named:
        splits = {
            split: np.array([file.path in chosen for file in files])[places[:, 0]] for split, chosen in named.items()
        }
    else:
        chosen = lowest(np.concatenate([file.draws for file in files]), validation)
        splits = {'train': ~chosen, 'validation': chosen}
    found = {split: chosen for split, chosen in splits.items() if chosen.any()}
    if not {'train', 'validation'} <= found.keys():
        raise UserError(f'{path}: leaves no document for {"validation" if "train" in found else "train"}')
    contents = [[file.sha256, [split for split, chosen in named.items() if file.path in chosen]] for file in files]
    name = digest('json lines', column, contents, None if named else validation)
    return {split: JsonTexts(files, column, places[chosen]) for split, chosen in found.items()}, name


def holds_lines(path: Path) -> bool:
    """True for a file of JSON lines, or a folder with one."""
    return any(map(_is_lines, visible_files(path))) if path.is_dir() else _is_lines(path)


def _is_lines(file: Path) -> bool:
    return file.name.lower().removesuffix(_PACKED).endswith(ENDING)


def _those_in(folder: Path) -> list[Path]:
    """Return the files of JSON lines, and log the number of other files."""
    there = visible_files(folder)
    found = [file for file in there if _is_lines(file)]
    if len(found) < len(there):
        _LOG.warning('%s: JSON lines are read; %d other files are skipped', folder, len(there) - len(found))
    return found


@dataclass(frozen=True, eq=False)
class _File:
    """Scanned file.

    Attributes:
        sha256: hash of the lines.
        changed: size and time of the last change.
        starts, lines, draws: first byte, line number and draw of each document.
    """

    path: Path
    sha256: str
    changed: tuple[int, int]
    starts: array
    lines: array
    draws: array

    def line(self, start: int) -> bytes:
        with self.path.open('rb') as file:
            if _state(file.fileno()) != self.changed:
                raise UserError(f'{self.path}: changed while it was being read; run again')
            file.seek(start)
            return file.readline()

    def places(self, number: int) -> np.ndarray:
        return np.stack([np.full(len(self.starts), number), self.starts, self.lines], axis=-1).astype(np.int64)


def _scanned(path: Path) -> _File:
    """Find the lines of a file, hash them, and draw a number for each.

    Raises:
        UserError: there is no such file, or it cannot be read, or not in place since it is packed.
    """
    if path.name.lower().endswith(_PACKED):
        raise UserError(f'{path}: JSON lines are read in place; unpack the file first')
    try:
        return _lines_of(path)
    except OSError as error:
        raise UserError(f'{path}: cannot be read ({error.strerror})') from error


def _lines_of(path: Path) -> _File:
    sha256, starts, lines, draws, at, number = hashlib.sha256(), array('q'), array('q'), array('d'), 0, 0
    with path.open('rb') as file:
        changed = _state(file.fileno())
        blocks = iter(lambda: file.readlines(_MIB), [])
        for block in counted(blocks, f'reading {path.name}', -(-changed[0] // _MIB), 'MiB'):
            for line in block:
                number += 1
                hashed = hashlib.sha256(line).digest()
                sha256.update(hashed)
                if not line.isspace():
                    starts.append(at)
                    lines.append(number)
                    draws.append(drawn(hashed))
                at += len(line)
    return _File(path, sha256.hexdigest(), changed, starts, lines, draws)


def _state(file: int) -> tuple[int, int]:
    """Return the size [bytes] and the time of the last change [ns] of an open file."""
    found = os.fstat(file)
    return found.st_size, found.st_mtime_ns
