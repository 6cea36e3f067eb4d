# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The user's text: a file, or a folder of files, divided into documents and splits.

A single file is split by characters, with the last part for validation. In a folder each file is one document, and a
hash of its path within the folder decides its split, unless files are named after the splits (`named_splits`), as
train.txt and validation.txt. Text is read as in `data.corpus.files`, plain or gzipped (.gz); line ends become newlines.
Hidden files and leftovers of editors are skipped.
"""

import hashlib
import itertools
import json
import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from saccade.data.corpus.document import PART, Document, held_out
from saccade.data.corpus.files import block_of, is_binary, opened, visible_files
from saccade.data.corpus.named_splits import named_splits
from saccade.data.corpus.text_file import TextFile
from saccade.data.stratified import both_splits
from saccade.paths import missing
from saccade.progress import counted
from saccade.types import UserError

_LOG = logging.getLogger(__name__)
_NAMED = ('.txt', '.raw', '.tokens')  # endings of files that may be named after splits, such as WikiText's
_FORMAT = '1.0.0'  # part of a fingerprint; increase it when the text read from files changes


@dataclass(frozen=True)
class Piece(Document):
    """Document of the user's text: a whole file, or a range of its characters, read when it is needed.

    Attributes:
        id: path within the folder, or the file name with the range of characters.
        start, stop: range of characters.
    """

    id: str
    file: TextFile
    start: int = 0
    stop: int | None = None

    @property
    def text(self) -> str:
        """The whole text."""
        return ''.join(self.parts())

    def parts(self) -> Iterator[str]:
        """Yield the text in parts.

        Raises:
            UserError: the file cannot be read, or has changed since planning.
        """
        return self.file.parts(self.start, self.file.length if self.stop is None else self.stop)


Plan = Mapping[str, Sequence[Piece]]


def plan_documents(path: Path, validation: float) -> Plan:
    """Assign documents to splits.

    Args:
        path: a file or a folder.
        validation: fraction of a file's characters, or of a folder's documents, for validation.

    Raises:
        UserError: the path does not exist, a file cannot be read or decoded, a split has no text, or as for
            `named_splits`.
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
        split: [[piece.id, piece.file.sha256, piece.start, piece.stop] for piece in pieces]
        for split, pieces in plan.items()
    }
    return hashlib.sha256(json.dumps([_FORMAT, pieces]).encode()).hexdigest()


def _plan_file(path: Path, validation: float) -> Plan:
    return _cut(TextFile.scan(path), validation)


def _cut(file: TextFile, validation: float) -> Plan:
    cut = int(file.length * (1 - validation))
    pieces = {
        'train': _range(file, 0, file.length if validation == 1 else cut),
        'validation': _range(file, cut, file.length),
    }
    return {split: [piece] if any(map(str.strip, piece.parts())) else [] for split, piece in pieces.items()}


def _range(file: TextFile, start: int, stop: int) -> Piece:
    return Piece(f'{_name(file.path.name)}[{start}:{stop}]', file, start, stop)


def _plan_folder(folder: Path, validation: float) -> Plan:
    """Split by file names if files are named after the splits; hold out documents by a draw of each otherwise."""
    files = visible_files(folder)
    named = named_splits(folder, files, _NAMED)
    found = {split: pieces_of(folder, chosen) for split, chosen in (named or {'train': files}).items()}
    if not named.get('validation'):
        found |= _held_apart(found['train'], validation, bool(named))
    return {split: pieces for split, pieces in found.items() if pieces or split != 'test'}


def _held_apart(pieces: Sequence[Piece], validation: float, cut: bool) -> Plan:
    """Hold out documents for validation. Args: cut, split a single document by characters."""
    if cut and len(pieces) == 1:
        return _cut(pieces[0].file, validation)
    chosen = held_out([piece.id for piece in pieces], validation)
    parts = both_splits([piece.id in chosen for piece in pieces], validation)
    return {split: list(itertools.compress(pieces, part)) for split, part in parts.items()}


def pieces_of(folder: Path, files: Sequence[Path]) -> list[Piece]:
    """Return the text files, one document each, and log the number of binary and empty ones."""
    pieces, skipped = [], Counter()
    for path in counted(files, f'reading {folder.name}', len(files), 'files'):
        with opened(path) as file:
            if is_binary(block_of(file, PART)):
                skipped['binary'] += 1
                continue
        scanned = TextFile.scan(path)
        if scanned.has_text:
            pieces.append(Piece(_name(path.relative_to(folder).as_posix()), scanned))
        else:
            skipped['empty'] += 1
    if skipped:
        counts = ' and '.join(f'{count} {kind}' for kind, count in skipped.items())
        _LOG.warning('%s: skipped %s files', folder, counts)
    return pieces


def _name(path: str) -> str:
    """Return a path in characters that can be written, even if it is not UTF-8."""
    return path.encode(errors='backslashreplace').decode()
