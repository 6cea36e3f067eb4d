# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The user's text: a file, or a folder of files, divided into documents and splits.

A single file is split by characters, with the last part for validation. In a folder each file is one document, and a
hash of its path within the folder decides its split, unless files are named after the splits: train.txt and
validation.txt, valid.txt, val.txt or dev.txt, and test.txt. Text is read as in `data.corpus.files`, plain or gzipped
(.gz); line ends become newlines. Hidden files and leftovers of editors are skipped.
"""

import hashlib
import json
import logging
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from saccade.data.corpus.document import held_out
from saccade.data.corpus.files import content_of, decoded, is_binary, visible_files
from saccade.paths import missing
from saccade.progress import counted
from saccade.types import UserError

_LOG = logging.getLogger(__name__)
_FORMAT = '1.0.0'  # part of a fingerprint; increase it when the text read from files changes
_SPLITS = {'train': ('train',), 'validation': ('validation', 'valid', 'val', 'dev'), 'test': ('test',)}
_NAMED = re.compile(
    r'(?P<split>train|validation|valid|val|dev|test)(-\d+-of-\d+)?(?P<ending>\.\w+)(\.gz)?', re.IGNORECASE
)


@dataclass(frozen=True)
class Piece:
    """Planned document: a whole file, or a range of its characters.

    Attributes:
        id: path within the folder, or the file name with the range of characters.
        sha256: hash of the file's bytes at planning.
        size: size of the file in bytes.
        start, stop: range of characters.
    """

    id: str
    path: Path
    sha256: str
    size: int
    start: int = 0
    stop: int | None = None

    def read(self) -> str:
        """Return the text of the document.

        Raises:
            UserError: the file cannot be read, or has changed since planning.
        """
        content = content_of(self.path)
        if hashlib.sha256(content).hexdigest() != self.sha256:
            raise UserError(f'{self.path}: changed while it was being read; run again')
        return decoded(content, self.path)[self.start : self.stop]


Plan = Mapping[str, Sequence[Piece]]


def plan_documents(path: Path, validation: float) -> Plan:
    """Assign documents to splits.

    Args:
        path: a file or a folder.
        validation: fraction of a file's characters, or of a folder's documents, for validation.

    Raises:
        UserError: the path does not exist, a file cannot be read or decoded, or a split has no text.
    """
    if not (path.is_file() or path.is_dir()):
        raise missing(path)
    plan = _plan_folder(path, validation) if path.is_dir() else _plan_file(path, validation)
    if not any(plan.values()):
        raise UserError(f'{path}: has no text')
    for split in ('train', 'validation'):
        if not plan[split]:
            raise UserError(
                f'{path}: leaves no text for {split}; a single file is split by characters, a folder by files'
            )
    return plan


def fingerprint(plan: Plan) -> str:
    """Return a digest of the plan's text and splits, independent of the files' location."""
    pieces = {
        split: [[piece.id, piece.sha256, piece.start, piece.stop] for piece in pieces] for split, pieces in plan.items()
    }
    return hashlib.sha256(json.dumps([_FORMAT, pieces]).encode()).hexdigest()


def _plan_file(path: Path, validation: float) -> Plan:
    content = content_of(path)
    text = decoded(content, path)
    cut = int(len(text) * (1 - validation))
    parts = {'train': (0, cut), 'validation': (cut, len(text))}
    return {
        split: [_piece(f'{path.name}[{start}:{stop}]', path, content, start, stop)] if text[start:stop].strip() else []
        for split, (start, stop) in parts.items()
    }


def _plan_folder(folder: Path, validation: float) -> Plan:
    """Split by file names if files are named after the splits, otherwise by a draw per document."""
    files = visible_files(folder)
    if named := named_splits(folder, files, ('.txt',)):
        found = {split: pieces_of(folder, chosen) for split, chosen in named.items()}
        return {split: pieces for split, pieces in found.items() if pieces or split != 'test'}
    pieces = pieces_of(folder, files)
    chosen = held_out([piece.id for piece in pieces], validation)
    return {
        'train': [piece for piece in pieces if piece.id not in chosen],
        'validation': [piece for piece in pieces if piece.id in chosen],
    }


def named_splits(folder: Path, files: Sequence[Path], endings: Collection[str]) -> dict[str, list[Path]]:
    """Return the files of a folder that are named after the splits, as train.txt; log the number of other files.

    Empty if no file is named after the training split, or none after the validation split. Parts of a split are named
    as Hugging Face `datasets` names them, train-00000-of-00002.parquet.
    """
    found = {file: match for file in files if file.parent == folder and (match := _NAMED.fullmatch(file.name))}
    named = {file: match['split'].lower() for file, match in found.items() if match['ending'].lower() in endings}
    if not {'train'} < {*named.values()} - {'test'}:
        return {}
    if len(named) < len(files):
        names = ', '.join(file.name for file in named)
        _LOG.warning('%s: %s are the splits; %d other files are skipped', folder, names, len(files) - len(named))
    return {split: [file for file, name in named.items() if name in names] for split, names in _SPLITS.items()}


def pieces_of(folder: Path, files: Sequence[Path]) -> list[Piece]:
    """Return the text files, one document each, and log the number of binary and empty ones."""
    pieces, skipped = [], Counter()
    for file in counted(files, f'reading {folder.name}', len(files), 'files'):
        content = content_of(file)
        if is_binary(content):
            skipped['binary'] += 1
        elif decoded(content, file).strip():
            pieces.append(_piece(file.relative_to(folder).as_posix(), file, content))
        else:
            skipped['empty'] += 1
    if skipped:
        counts = ' and '.join(f'{count} {kind}' for kind, count in skipped.items())
        _LOG.warning('%s: skipped %s files', folder, counts)
    return pieces


def _piece(id: str, path: Path, content: bytes, start: int = 0, stop: int | None = None) -> Piece:
    id = id.encode(errors='backslashreplace').decode()  # for names that are not UTF-8
    return Piece(id, path, hashlib.sha256(content).hexdigest(), len(content), start, stop)
