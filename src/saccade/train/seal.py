# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Seal of a checkpoint: the step, its metrics, and bytes and digest of each of its files.

A file is read for its digest by the process that wrote it, and again before what is in it is restored.
"""

import dataclasses
import hashlib
import itertools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax

from saccade.paths import read_regular
from saccade.train.bucket import SEAL, Mirror
from saccade.train.format import numbered, without_number
from saccade.train.stored_state import store_of
from saccade.train.workdir import write_atomically
from saccade.types import UserError

_SEALED_WITHIN = 3600  # seconds in which each process must have read what it wrote
_Files = dict[str, Sequence[int | str]]  # bytes and digest by path within a step
_saves = itertools.count()  # every process makes the same saves, so their counts agree


@dataclass(frozen=True)
class Seal:
    """Record of a step without its arrays. `files` has bytes and digest by path within the step."""

    step: int
    metrics: Mapping[str, float]
    extra: Mapping[str, Any]
    files: Mapping[str, Sequence[int | str]]

    @property
    def stores(self) -> list[str]:
        """Folders within the step that hold arrays."""
        return sorted({name.partition('/')[0] for name in self.files if '/' in name})

    def files_of(self, field: str | None) -> Mapping[str, Sequence[int | str]]:
        """The files that a field is read from; of the whole state if it is None."""
        if field is None:
            return self.files
        return {name: file for name, file in self.files.items() if name.startswith(f'{store_of(field)}/')}


class DamagedError(Exception):
    """Error of a step, or of a file in it, that differs from its seal."""


def digests_together(folder: Path, upload: Callable[[Iterable[str]], None]) -> tuple[_Files, _Files]:
    """Return bytes and digest of the files of a committed step: the process's own, and, on process 0, the others'.

    Each process reads the files that it wrote, and hands the digests over to process 0 in the step's folder.

    Args:
        upload: called with the paths of the process's own files before it hands them over, except on process 0.
    """
    import orbax.checkpoint as ocp

    process, found = jax.process_index(), {}
    if process:
        own = _digests(folder, lambda path: f'ocdbt.process_{process}' in path.parts)
        upload(own)
        write_atomically(folder / f'{SEAL}.{process}', json.dumps(own))
    ocp.multihost.get_barrier_sync_fn()(key=f'{SEAL}.{next(_saves)}', timeout_ms=1000 * _SEALED_WITHIN)
    if process:
        return own, found
    for other in range(1, jax.process_count()):
        handed = folder / f'{SEAL}.{other}'
        found |= json.loads(handed.read_text())
        handed.unlink()
    return _digests(folder, lambda path: path.as_posix() not in found), found


def _digests(folder: Path, wanted: Callable[[Path], bool]) -> _Files:
    """Return bytes and digest of the files of a step whose path within it is wanted."""
    paths = [path.relative_to(folder) for path in sorted(folder.rglob('*')) if path.is_file()]
    return {
        path.as_posix(): ((folder / path).stat().st_size, file_digest(folder / path)) for path in paths if wanted(path)
    }


def write_seal(folder: Path, about: Mapping[str, Any], files: Mapping[str, Sequence[int | str]]) -> None:
    """Write the seal of a step. Its first line is the digest of its second, which is JSON."""
    body = json.dumps(numbered({**about, 'files': files})).encode()
    write_atomically(folder / SEAL, hashlib.blake2b(body).hexdigest().encode() + b'\n' + body)


def read_seal(folder: Path) -> Seal:
    """Return the seal of a step.

    Raises:
        DamagedError: it is missing or damaged, or is that of another step.
        UserError: another version of Saccade wrote it.
    """
    try:
        digest, _, body = read_regular(folder / SEAL).partition(b'\n')
    except (FileNotFoundError, NotADirectoryError):
        raise DamagedError(f'{SEAL} is missing') from None
    except OSError as error:
        raise DamagedError(f'{SEAL} cannot be read ({error.strerror})') from None
    if digest != hashlib.blake2b(body).hexdigest().encode():
        raise DamagedError(f'{SEAL} is damaged')
    written, fields = without_number(json.loads(body), f'{folder / SEAL}'), dataclasses.fields(Seal)
    unknown = written.keys() - {field.name for field in fields}
    if unknown:
        raise UserError(
            f"{folder / SEAL}: written by a newer version of Saccade: it has the field '{min(unknown)}', which this "
            'version does not know; update Saccade'
        )
    if missing := [field.name for field in fields if field.name not in written]:
        raise UserError(
            f"{folder / SEAL}: written by a development version of Saccade: it has no '{missing[0]}'; train again"
        )
    seal = Seal(**written)
    if folder.name != str(seal.step):
        raise DamagedError(f'{SEAL} is of step {seal.step}, so the folder was renamed or copied')
    return seal


def complaint_of(folder: Path, field: str | None, mirror: Mirror) -> str | None:
    """Return the damage of a step, or of the files of one field; None if all agree with the seal."""
    try:
        files = read_seal(folder).files_of(field)
        mirror.fetch(folder, files)
        for name, (size, digest) in files.items():
            _verify(folder, name, size, digest)
    except DamagedError as error:
        return str(error)
    return None


def _verify(folder: Path, name: str, size: int, digest: str) -> None:
    try:
        found = (folder / name).stat().st_size
        if found != size:
            raise DamagedError(f'{name} has {found} bytes instead of {size}')
        if file_digest(folder / name) != digest:
            raise DamagedError(f'{name} is damaged')
    except OSError as error:
        raise DamagedError(f'{name} cannot be read ({error.strerror})') from error


def file_digest(path: Path) -> str:
    """Return the BLAKE2b digest of a file, in hexadecimal."""
    with path.open('rb') as file:
        return hashlib.file_digest(file, 'blake2b').hexdigest()
