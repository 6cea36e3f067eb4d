# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Line-aligned files: line n of one is the translation of line n of the other, plain or gzipped (.gz), in UTF-8.

The two files differ in the language code at the end of their names. In a folder they are named after the splits:
train.en and train.de, and val.en or another of the names below; with test.en only, pairs of train are held out for
validation. Without a folder they are two files, corpus.en and corpus.de for the path 'corpus', whose pairs are split
by a hash.
"""

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from saccade.data.cache import digest
from saccade.data.corpus.files import content_of, decoded, is_leftover
from saccade.data.corpus.named_splits import NAMES
from saccade.data.corpus.record_files import FileRecords, format_of
from saccade.data.corpus.records import Records, held_apart
from saccade.types import UserError

_FORMAT = 1  # part of a digest; increase it when the files' pairs change
_TEST = 'test'  # prefix of test files; each is a split

Columns = tuple[str, str]


def open_parallel(path: Path, columns: Columns, validation: float) -> Records | None:
    """Open line-aligned files; return None if the path has none.

    Args:
        path: a folder, or the common part of two file names.
        columns: languages of the two files.
        validation: fraction of the pairs for validation, if no files are for it.

    Raises:
        UserError: a file is missing or cannot be read; or the two files of a split differ in length.
    """
    if path.is_dir():
        found = _in_folder(path)
        if not found:
            return None
        stems = {split: _stem(next(iter(files.values()))) for split, files in found.items()}
        splits = {split: _aligned(path / stems[split], files, columns) for split, files in found.items()}
        digests = {split: each.digest for split, each in splits.items()}
        if 'validation' not in splits:
            held = held_apart(splits['train'], validation)
            splits, digests = splits | held.splits, digests | {'train': held.digest}
        return Records(splits, digest('parallel', _FORMAT, digests))
    there = {} if path.is_file() else _languages(path.parent, path.name)
    return held_apart(_aligned(path, there, columns), validation) if there else None


def _in_folder(folder: Path) -> dict[str, dict[str, Path]]:
    """Return the files of each split by language; a test split has its own name."""
    names = sorted({_stem(file) for file in _files(folder)})
    tests = [name for name in names if name.startswith(_TEST)]
    splits = {split: [name for name in names if name in NAMES[split]] for split in ('train', 'validation')}
    if not any(splits.values()):
        return {}
    if tests and not splits['validation']:
        del splits['validation']
    for split, found in splits.items():
        if len(found) != 1:
            wanted = ' or '.join(f'{name}.*' for name in NAMES[split])
            there = ', '.join(found or names)
            raise UserError(f'{folder}: the files for {split} must have one common name {wanted}; there are {there}')
    splits |= {_TEST if len(tests) == 1 else name: [name] for name in tests}
    return {split: _languages(folder, name) for split, (name,) in splits.items()}


def _aligned(path: Path, files: Mapping[str, Path], columns: Columns) -> FileRecords:
    chosen = [_of_language(path, files, language) for language in columns]
    sides = [list(_lines(file)) for file in chosen]
    if len(sides[0]) != len(sides[1]):
        fewer, more = sorted(range(2), key=lambda side: len(sides[side]))
        raise UserError(
            f'{chosen[more]} has {len(sides[more])} lines, but {chosen[fewer].name} has {len(sides[fewer])}: they are '
            f'not aligned; line {len(sides[fewer]) + 1} has no counterpart'
        )
    if not sides[0]:
        raise UserError(f'{chosen[0]}: has no lines')
    contents = [hashlib.sha256('\n'.join(side).encode()).hexdigest() for side in sides]
    both = path.with_name(f'{path.name}.{{{",".join(columns)}}}')
    records = [dict(zip(columns, pair, strict=True)) for pair in zip(*sides, strict=True)]
    return FileRecords(both, digest(columns, contents), records, range(1, len(records) + 1))


def _of_language(path: Path, files: Mapping[str, Path], language: str) -> Path:
    if language not in files:
        raise UserError(
            f"{path}: there is no file in the language '{language}', {path.name}.{language}; there are "
            f'{", ".join(sorted(files))}; set data.source and data.target'
        )
    return files[language]


def _lines(file: Path) -> Iterator[str]:
    text = decoded(content_of(file), file)
    yield from text.removesuffix('\n').split('\n') if text else ()


def _languages(folder: Path, stem: str) -> dict[str, Path]:
    """Return the files with a common name, by language."""
    return {_language(file): file for file in _files(folder) if _stem(file) == stem}


def _files(folder: Path) -> Iterator[Path]:
    """Yield files whose ending may be a language, as it is not the ending of a known format."""
    for file in sorted(folder.iterdir()) if folder.is_dir() else ():
        if file.is_file() and not is_leftover(file.name) and _language(file) and not format_of(file):
            yield file


def _language(file: Path) -> str:
    return Path(file.name.removesuffix('.gz')).suffix.removeprefix('.')


def _stem(file: Path) -> str:
    return Path(file.name.removesuffix('.gz')).stem
