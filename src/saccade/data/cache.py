# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Cache of prepared data: each folder is named by a digest of all its sources and settings.

A folder appears atomically, and contains the SHA-256 of each of its files. They are verified when the folder is opened,
once per process, at the speed of SHA-256: 0.5 to 2 s per GB. A damaged folder is rebuilt.
"""

import contextlib
import fcntl
import functools
import hashlib
import json
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from saccade.data.tokenizer.tokenizer import Tokenizer
from saccade.data.tokenizer.trainer import Trainer
from saccade.paths import read_text
from saccade.progress import counted
from saccade.types import Part, UserError

# Part of a tokenizer's key; increase it when training changes.
_FORMAT = 2
# Characters tokenised at a time; an encoding takes some hundred bytes of memory per character.
_GROUP = 1 << 21
_T = TypeVar('_T')
DIGESTS = 'digests.json'
_LOG = logging.getLogger(__name__)


def trained(tokenizer: Part[Trainer], texts: Callable[[], Iterable[str]], corpus: str, cache: Path) -> Tokenizer:
    """Train a tokenizer, or load it from the cache.

    Args:
        texts: returns the training texts, if it must be trained.
        corpus: digest of the texts.

    Raises:
        UserError: it cannot be trained on the texts.
    """
    trainer = tokenizer()
    read = [trainer.digest] if hasattr(trainer, 'digest') else []  # a trainer that reads a file
    name = f'tokenizer-{digest(_FORMAT, corpus, spec(tokenizer), *read)}'
    folder = cached(cache / name, lambda new: trainer.train(texts()).save(new))
    return Tokenizer.load(folder / 'tokenizer.json')


def each(documents: Sequence[Any]) -> Iterator[Any]:
    """Yield documents one after another, each read on demand."""
    count = len(documents)
    return counted((documents[number] for number in range(count)), 'reading data', count, 'rows')


def groups(texts: Iterable[_T], size: Callable[[_T], int]) -> Iterator[list[_T]]:
    """Yield groups of texts to tokenise together, up to a total size in characters."""
    group, total = [], 0
    for text in texts:
        group.append(text)
        total += size(text)
        if total >= _GROUP:
            yield group
            group, total = [], 0
    yield group


def spec(value: Any) -> Any:
    """Convert a part back to its form in a config."""
    if isinstance(value, Part):
        return {'use': value.name, **{key: spec(item) for key, item in value.arguments}}
    return [spec(item) for item in value] if isinstance(value, tuple) else value


def digest(*values: Any) -> str:
    """Return a hash of JSON values, used as a name."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:32]


def cached(folder: Path, make: Callable[[Path], None]) -> Path:
    """Return a verified folder of the cache: built if it is missing, rebuilt if it is damaged.

    Several processes may build it at the same time. The first to finish puts its folder in place, and the others use
    it.

    Args:
        make: writes the files into an empty folder.

    Raises:
        UserError: the folder is damaged and cannot be replaced.
        OSError: it is missing and cannot be written.
    """
    there, wrong = os.path.lexists(folder), _wrong(folder)
    if not wrong:
        return folder
    if there:
        _LOG.warning('%s: %s; it is rebuilt', folder, wrong)
    try:
        with _drafted(folder) as draft:
            make(draft / 'new')
            (draft / 'new' / DIGESTS).write_text(json.dumps(_digests(draft / 'new'), indent=2) + '\n')
            _publish(draft, folder)
    except OSError as error:
        if not there:
            raise
        raise UserError(f'{folder}: {wrong}, and it cannot be rebuilt ({error}): delete it') from error
    for draft in folder.parent.glob(f'.draft-{folder.name}-*'):
        with contextlib.suppress(OSError), (draft / '.lock').open() as lock:  # held by a running builder
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(draft, ignore_errors=True)
    return folder


def is_sound(folder: Path) -> bool:
    """True if the files of a folder match their digests, or if the folder has no digests."""
    return not (folder / DIGESTS).exists() or not _wrong(folder)


@contextlib.contextmanager
def _drafted(folder: Path) -> Iterator[Path]:
    """Context with a draft folder next to `folder`, which contains an empty folder 'new'; it is deleted at the end."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    begun = Path(tempfile.mkdtemp(prefix=f'.begun-{folder.name}-', dir=folder.parent))
    draft = begun.with_name(begun.name.replace('.begun-', '.draft-', 1))
    try:
        (begun / 'new').mkdir()
        with _locked(begun):
            begun.rename(draft)  # after locking, since others delete unlocked drafts
            yield draft
    finally:
        for path in (begun, draft):
            shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Context that holds a folder's lock, if the disk supports locks; the lock may be shared."""
    with contextlib.ExitStack() as held:
        with contextlib.suppress(OSError):
            lock = os.open(folder / '.lock', os.O_RDONLY | os.O_CREAT)
            held.callback(os.close, lock)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _publish(draft: Path, folder: Path) -> None:
    """Put a draft's new folder in place of a missing or damaged one; keep an intact one."""
    with _locked(folder.parent):  # otherwise one process might remove a folder that another has just put in place
        if not _wrong(folder):
            return
        if os.path.lexists(folder):
            os.rename(folder, draft / 'old')
        os.rename(draft / 'new', folder)


def _wrong(folder: Path) -> str:
    """Return the first fault of a folder: a file that differs from its digest; '' for a sound folder."""
    if not folder.is_dir():
        return 'is not a folder'
    try:
        written, there = dict(json.loads(read_text(folder / DIGESTS))), _digests(folder)
    except (OSError, ValueError, TypeError, RecursionError) as error:
        return f'{DIGESTS}, which verifies its files, cannot be read ({error})'
    for name in sorted(written.keys() | there.keys()):
        if name not in there:
            return f'{name} is missing'
        if there[name] != written.get(name):
            return f'{name} has changed since it was written'
    return ''


def _digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file below a folder, except hidden ones."""
    files = {file.relative_to(folder).as_posix(): file for file in sorted(folder.rglob('*')) if file.is_file()}
    chosen = {
        name: file.stat()
        for name, file in files.items()
        if name != DIGESTS and not any(part.startswith('.') for part in name.split('/'))
    }
    return {name: _sha256(files[name], stat.st_ino, stat.st_size, stat.st_mtime_ns) for name, stat in chosen.items()}


@functools.cache
def _sha256(file: Path, inode: int, size: int, changed: int) -> str:
    """Hash a file once, and again only if its inode, size [bytes] or modification time [ns] changes."""
    with file.open('rb') as opened:
        return hashlib.file_digest(opened, 'sha256').hexdigest()


def write_arrays(folder: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays into a folder, each into a file of its name."""
    folder.mkdir(exist_ok=True)
    for name, array in arrays.items():
        np.save(folder / f'{name}.npy', array)


@dataclass(eq=False)
class GrowingArray:
    """Array of one axis in a .npy file, written part by part since it may exceed memory. A context manager.

    Attributes: length, number of values so far.
    """

    path: Path
    dtype: np.dtype
    length: int = 0

    def __enter__(self) -> 'GrowingArray':
        self._file = self.path.open('wb')
        self._write_header()
        return self

    def append(self, values: Sequence[Any]) -> None:
        """Write more values."""
        self._file.write(np.array(values, self.dtype).tobytes())
        self.length += len(values)

    def __exit__(self, *exception: Any) -> None:
        self._file.seek(0)
        self._write_header()
        self._file.close()

    def _write_header(self) -> None:
        """Write the header, whose size is the same for any length."""
        fields = {'descr': np.lib.format.dtype_to_descr(self.dtype), 'fortran_order': False, 'shape': (self.length,)}
        np.lib.format.write_array_header_1_0(self._file, fields)


def read_arrays(folder: Path) -> dict[str, np.ndarray]:
    """Return memory-mapped arrays of a folder."""
    return {path.stem: np.load(path, mmap_mode='r') for path in folder.glob('*.npy')}


@contextlib.contextmanager
def explained(cache: Path) -> Iterator[None]:
    """Context that converts an OSError of the cache folder into a one-line error.

    Raises:
        UserError: a file cannot be written or read.
    """
    try:
        yield
    except OSError as error:
        raise UserError(
            f'preparing the data in {cache} failed: {error}; SACCADE_CACHE names another folder for prepared data'
        ) from error
