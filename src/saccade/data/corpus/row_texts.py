# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Text in rows, a document per row, in a file or a folder of the files of `row_files`.

The files may be larger than memory, which holds only the places of the rows, 24 bytes each: a document is read when it
is needed. The documents of a folder are split by its files if they are named after the splits (`named_splits`), as
train.jsonl and validation.jsonl; otherwise a hash of each row decides. A folder of texts may also have some tables: its
rows are read only if it has a file of JSON lines, Parquet or FASTA, or if at least half of its files are of rows.
"""

import hashlib
import itertools
import logging
import zlib
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from saccade.data.cache import digest
from saccade.data.corpus.document import Document, drawn, lowest
from saccade.data.corpus.files import visible_files
from saccade.data.corpus.named_splits import named_splits
from saccade.data.corpus.row_files import ENDINGS, RowFile, ending_of, open_rows
from saccade.data.stratified import both_splits
from saccade.types import UserError

_ALSO_TEXTS = frozenset(('.csv', '.tsv', '.json'))  # endings of files among texts and source code
_LOG = logging.getLogger(__name__)


@dataclass(eq=False)
class RowTexts(Sequence[Document]):
    """Documents in the rows of files, read when they are indexed. One file is open at a time.

    Attributes:
        files: the files, as they were when their rows were counted.
        places: [documents, 3], number of the file, place of the row in it, and its line.
    """

    files: Sequence[RowFile]
    places: np.ndarray
    _open: int = field(default=0, init=False)

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, index: int) -> Document:
        number, place, line = self.places[index].tolist()
        if number != self._open:
            self.files[self._open].close()
            self._open = number
        return self.files[number].document(place, line)


def read_rows(path: Path, column: str, validation: float) -> tuple[dict[str, RowTexts], str]:
    """Return the documents of a file or a folder by split, and a digest of them.

    Args:
        column: field with the text.
        validation: fraction of documents for validation, if no file is named after it.

    Raises:
        UserError: a file cannot be read or has no such field, a split has no documents, or as for `named_splits`.
    """
    paths = _those_in(path) if path.is_dir() else [path]
    named = named_splits(path, paths, ENDINGS) if path.is_dir() else {}
    files = [_scanned(file, column) for file in (itertools.chain(*named.values()) if named else paths)]
    places = np.concatenate([file.placed(number) for number, file in enumerate(files)])
    splits = {
        split: np.array([file.opened.path in those for file in files])[places[:, 0]]
        for split, those in (named or {'train': paths}).items()
    }
    if not named.get('validation'):
        train = splits['train']
        chosen = np.zeros_like(train)
        chosen[train] = lowest(np.concatenate([file.draws for file in files])[train], validation)
        splits |= {split: train & part for split, part in both_splits(chosen, validation).items()}
    found = {split: chosen for split, chosen in splits.items() if chosen.any()}
    if not {'train', 'validation'} <= found.keys():
        raise UserError(f'{path}: leaves no document for {"validation" if "train" in found else "train"}')
    contents = [
        [file.sha256, [split for split, chosen in named.items() if file.opened.path in chosen]] for file in files
    ]
    name = digest('rows', column, contents, None if named.get('validation') else validation)
    opened = [file.opened for file in files]
    return {split: RowTexts(opened, places[chosen]) for split, chosen in found.items()}, name


def holds_rows(path: Path) -> bool:
    """True for a file of rows, or a folder of such files."""
    if not path.is_dir():
        return bool(ending_of(path))
    files = visible_files(path)
    endings = [ending for ending in map(ending_of, files) if ending]
    return bool(endings) and (2 * len(endings) >= len(files) or not _ALSO_TEXTS.issuperset(endings))


def _those_in(folder: Path) -> list[Path]:
    """Return the files of rows, and log the number of other files."""
    there = visible_files(folder)
    found = [file for file in there if ending_of(file)]
    if len(found) < len(there):
        endings = ', '.join(sorted({*map(ending_of, found)}))
        _LOG.warning('%s: rows of %s are read; %d other files are skipped', folder, endings, len(there) - len(found))
    return found


@dataclass(frozen=True, eq=False)
class _Scanned:
    """Scanned file.

    Attributes:
        sha256: hash of the rows.
        places, lines, draws: place, line and draw of each document.
    """

    opened: RowFile
    sha256: str
    places: array
    lines: array
    draws: array

    def placed(self, number: int) -> np.ndarray:
        return np.stack([np.full(len(self.places), number), self.places, self.lines], axis=-1).astype(np.int64)


def _scanned(path: Path, column: str) -> _Scanned:
    """Find the rows of a file, hash them, and draw a number for each.

    Raises:
        UserError: there is no such file, or it cannot be read, or its first row has no text.
    """
    try:
        return _rows_of(open_rows(path, column))
    except (zlib.error, EOFError) as error:
        raise UserError(f'{path}: is not a whole gzip file ({error})') from error
    except OSError as error:
        raise UserError(f'{path}: cannot be read ({error.strerror or error})') from error


def _rows_of(file: RowFile) -> _Scanned:
    sha256, places, lines, draws = hashlib.sha256(type(file).__name__.encode()), array('q'), array('q'), array('d')
    for row in file.rows():
        if not places:
            file.document(row.place, row.line)  # a wrong column is found before all rows are read
        hashed = hashlib.sha256(file.key(row)).digest()
        sha256.update(hashed)
        places.append(row.place)
        lines.append(row.line)
        draws.append(drawn(hashed))
    file.close()
    return _Scanned(file, sha256.hexdigest(), places, lines, draws)
