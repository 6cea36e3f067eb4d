# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The user's own text: a file, or a folder of files, which documents they hold, and in which split.

A file is cut in two by characters, the last for validation. In a folder each file is one document, and a hash
of its path within the folder decides the split, unless files are named after the splits: train.txt and
validation.txt, valid.txt or val.txt, and test.txt. Text is as in `data.corpus.files`, plain or gzipped (.gz); line ends
become newlines. Hidden files and what editors leave behind are no documents.
"""

import hashlib
import json
import logging
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from saccade.data.corpus.document import held_out
from saccade.data.corpus.files import content_of, decoded, is_binary, visible_files
from saccade.types import UserError

_LOG = logging.getLogger(__name__)
_FORMAT = '1.0.0'  # part of a fingerprint: another one wherever all files are read to other text
_SPLITS = {'train': ('train',), 'validation': ('validation', 'valid', 'val'), 'test': ('test',)}
_NAMED = re.compile(r'(?P<split>train|validation|valid|val|test)\.txt(\.gz)?', re.IGNORECASE)


@dataclass(frozen=True)
class Piece:
    """Planned document: the whole of a file, or some of its characters.

    Attributes:
        id: the path within the folder, or the name of the file and the characters taken.
        sha256: of the file's bytes when it was planned.
        size: bytes of the file.
        start, stop: characters.
    """

    id: str
    path: Path
    sha256: str
    size: int
    start: int = 0
    stop: int | None = None

    def read(self) -> str:
        """Return the text.

        Raises:
            UserError: the file cannot be read, or has changed since it was planned.
        """
        content = content_of(self.path)
        if hashlib.sha256(content).hexdigest() != self.sha256:
            raise UserError(f'{self.path}: changed while it was being read; run again')
        return decoded(content, self.path)[self.start : self.stop]


Plan = Mapping[str, Sequence[Piece]]


def plan_documents(path: Path, validation: float) -> Plan:
    """Decide which document goes into which split.

    Args:
        path: a file or a folder.
        validation: fraction of the characters of a file, or of the documents of a folder.

    Raises:
        UserError: there is nothing at the path, a file cannot be read or decoded, a split has no text.
    """
    if not (path.is_file() or path.is_dir()):
        raise UserError(f'{path}: there is no such file or folder')
    plan = _plan_folder(path, validation) if path.is_dir() else _plan_file(path, validation)
    if not any(plan.values()):
        raise UserError(f'{path}: holds no text')
    for split in ('train', 'validation'):
        if not plan[split]:
            raise UserError(
                f'{path}: leaves no text for {split}; a single file is split by characters, a folder by files'
            )
    return plan


def fingerprint(plan: Plan) -> str:
    """Return a digest of all text in the plan and of how it is split, wherever the files lie."""
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
    """Split by the names of the files where they are named after the splits, else by a draw of each document."""
    files = visible_files(folder)
    named = {file: match['split'].lower() for file in files if (match := _NAMED.fullmatch(file.name))}
    named = {file: split for file, split in named.items() if file.parent == folder}
    if {'train'} < {*named.values()} - {'test'}:
        if len(named) < len(files):
            names = ', '.join(file.name for file in named)
            _LOG.warning('%s: %s are the splits; %d other files are left out', folder, names, len(files) - len(named))
        found = {
            split: pieces_of(folder, [file for file, name in named.items() if name in names])
            for split, names in _SPLITS.items()
        }
        return {split: pieces for split, pieces in found.items() if pieces or split != 'test'}
    pieces = pieces_of(folder, files)
    chosen = held_out([piece.id for piece in pieces], validation)
    return {
        'train': [piece for piece in pieces if piece.id not in chosen],
        'validation': [piece for piece in pieces if piece.id in chosen],
    }


def pieces_of(folder: Path, files: Sequence[Path]) -> list[Piece]:
    """Return the files that hold text, one document each, and say how many look binary."""
    pieces, skipped = [], Counter()
    for file in files:
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
    id = id.encode(errors='backslashreplace').decode()  # a name in another encoding than UTF-8
    return Piece(id, path, hashlib.sha256(content).hexdigest(), len(content), start, stop)
