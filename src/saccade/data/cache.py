# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Cache of prepared data: each folder is named by a digest of everything it was made from.

A folder appears whole or not at all, and holds the SHA-256 of each of its files. These are verified when the folder is
opened, once a process, at the speed of SHA-256: 0.5 to 2 s for each GB. A damaged folder is made anew.
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
from pathlib import Path
from typing import Any

import numpy as np

from saccade.data.tokenizer.tokenizer import Tokenizer
from saccade.data.tokenizer.trainer import Trainer
from saccade.paths import read_text
from saccade.progress import counted
from saccade.types import Part, UserError

# Part of a tokenizer's key: another number wherever its training changes.
_FORMAT = 2
# Characters tokenised at a time; an encoding takes some hundred bytes of memory a character.
_GROUP = 1 << 21
DIGESTS = 'digests.json'
_LOG = logging.getLogger(__name__)


def trained(tokenizer: Part[Trainer], texts: Callable[[], Iterable[str]], corpus: str, cache: Path) -> Tokenizer:
    """Train a tokenizer, or find that done in the cache.

    Args:
        texts: gives them where it must be trained.
        corpus: the digest of the texts.

    Raises:
        UserError: it cannot be trained on them.
    """
    trainer = tokenizer()
    read = [trainer.digest] if hasattr(trainer, 'digest') else []  # of a file that it reads
    name = f'tokenizer-{digest(_FORMAT, corpus, spec(tokenizer), *read)}'
    folder = kept(cache / name, lambda new: trainer.train(texts()).save(new))
    return Tokenizer.load(folder / 'tokenizer.json')


def each(documents: Sequence[Any]) -> Iterator[Any]:
    """Documents one after another, each read when its turn comes."""
    count = len(documents)
    return counted((documents[number] for number in range(count)), 'reading data', count, 'rows')


def groups(documents: Sequence[Any], size: Callable[[Any], int]) -> Iterator[list[Any]]:
    """Documents as many at a time as are to be tokenised together, by their size in characters."""
    group, total = [], 0
    for document in each(documents):
        group.append(document)
        total += size(document)
        if total >= _GROUP:
            yield group
            group, total = [], 0
    yield group


def spec(value: Any) -> Any:
    """Turn a part back into what a config would hold."""
    if isinstance(value, Part):
        return {'use': value.name, **{key: spec(item) for key, item in value.arguments}}
    return [spec(item) for item in value] if isinstance(value, tuple) else value


def digest(*values: Any) -> str:
    """A name that no other values have."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:32]


def kept(folder: Path, make: Callable[[Path], None]) -> Path:
    """Return a folder of the cache, verified: made where it is missing, and made anew where it is damaged.

    Several processes may make it at once. The first to finish puts its own in place, and the others use that.

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
        _LOG.warning('%s: %s; it is made anew', folder, wrong)
    try:
        with _drafted(folder) as draft:
            make(draft / 'new')
            (draft / 'new' / DIGESTS).write_text(json.dumps(_digests(draft / 'new'), indent=2) + '\n')
            _publish(draft, folder)
    except OSError as error:
        if not there:
            raise
        raise UserError(f'{folder}: {wrong}, and it cannot be made anew ({error}): delete it') from error
    for draft in folder.parent.glob(f'.draft-{folder.name}-*'):
        with contextlib.suppress(OSError), (draft / '.lock').open() as lock:  # which its maker holds while it lives
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(draft, ignore_errors=True)
    return folder


def is_sound(folder: Path) -> bool:
    """Whether the files of a folder are as they were written, or nobody wrote down how they were."""
    return not (folder / DIGESTS).exists() or not _wrong(folder)


@contextlib.contextmanager
def _drafted(folder: Path) -> Iterator[Path]:
    """Give a folder beside another, with an empty folder 'new' in it; delete it at the end."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    begun = Path(tempfile.mkdtemp(prefix=f'.begun-{folder.name}-', dir=folder.parent))
    draft = begun.with_name(begun.name.replace('.begun-', '.draft-', 1))
    try:
        (begun / 'new').mkdir()
        with _locked(begun):
            begun.rename(draft)  # now that it is locked: others take away drafts that nobody holds
            yield draft
    finally:
        for path in (begun, draft):
            shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder, where the disk has locks; other users of the folder may hold it too."""
    with contextlib.ExitStack() as held:
        with contextlib.suppress(OSError):
            lock = os.open(folder / '.lock', os.O_RDONLY | os.O_CREAT)
            held.callback(os.close, lock)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _publish(draft: Path, folder: Path) -> None:
    """Put the new folder of a draft in place, and take a damaged one away; leave a sound one there."""
    with _locked(folder.parent):  # else one might take away what another has just put there
        if not _wrong(folder):
            return
        if os.path.lexists(folder):
            os.rename(folder, draft / 'old')
        os.rename(draft / 'new', folder)


def _wrong(folder: Path) -> str:
    """Say what is wrong with a folder: the first file that is not as it was written; empty for a sound folder."""
    if not folder.is_dir():
        return 'is no folder'
    try:
        written, there = dict(json.loads(read_text(folder / DIGESTS))), _digests(folder)
    except (OSError, ValueError, TypeError, RecursionError) as error:
        return f'{DIGESTS}, by which its files are verified, cannot be read ({error})'
    for name in sorted(written.keys() | there.keys()):
        if name not in there:
            return f'{name} is missing'
        if there[name] != written.get(name):
            return f'{name} is not as it was written'
    return ''


def _digests(folder: Path) -> dict[str, str]:
    """SHA-256 of each file below a folder, but for hidden ones."""
    files = {file.relative_to(folder).as_posix(): file for file in sorted(folder.rglob('*')) if file.is_file()}
    chosen = {
        name: file.stat()
        for name, file in files.items()
        if name != DIGESTS and not any(part.startswith('.') for part in name.split('/'))
    }
    return {name: _sha256(files[name], stat.st_ino, stat.st_size, stat.st_mtime_ns) for name, stat in chosen.items()}


@functools.cache
def _sha256(file: Path, inode: int, size: int, changed: int) -> str:
    """Read a file once, and again when its inode, its size in bytes or its time in nanoseconds is another."""
    with file.open('rb') as opened:
        return hashlib.file_digest(opened, 'sha256').hexdigest()


def write_arrays(folder: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays into a folder, each into a file of its name."""
    folder.mkdir(exist_ok=True)
    for name, array in arrays.items():
        np.save(folder / f'{name}.npy', array)


def read_arrays(folder: Path) -> dict[str, np.ndarray]:
    """Map the arrays of a folder into memory."""
    return {path.stem: np.load(path, mmap_mode='r') for path in folder.glob('*.npy')}


@contextlib.contextmanager
def explained(cache: Path) -> Iterator[None]:
    """Say in one line what goes wrong in the cache folder.

    Raises:
        UserError: something cannot be written or read.
    """
    try:
        yield
    except OSError as error:
        raise UserError(
            f'preparing the data in {cache} failed: {error}; SACCADE_CACHE names another folder for prepared data'
        ) from error
