# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Output paths of a launcher, checked before its work, so that no result is lost because it cannot be written."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from saccade.paths import expanded
from saccade.types import UserError


def require_file(flag: str, path: str) -> None:
    """Refuse a file that cannot be written: its folder is missing or not writable, or the file is a folder.

    Raises:
        UserError: the file cannot be written; the message names the flag.
    """
    with _named(flag, path):
        file = Path(path)
        if file.is_dir():
            raise UserError(f'--{flag}={path}: it is a folder; name a file')
        if not file.parent.is_dir():
            raise UserError(f'--{flag}={path}: there is no folder {file.parent}; create it first')
        with tempfile.NamedTemporaryFile(dir=file.parent, prefix=f'.{file.name}.'):
            pass


def require_folder(flag: str, path: str) -> None:
    """Refuse a folder that cannot be created or is not writable.

    Raises:
        UserError: the folder cannot be used; the message names the flag.
    """
    try:
        folder = expanded(path)
    except UserError as error:
        raise UserError(f'--{flag}={error}') from None
    with _named(flag, path):
        folder = folder.absolute()
        there = next(each for each in (folder, *folder.parents) if each.exists())
        if not there.is_dir():
            raise UserError(f'--{flag}={path}: {there} is a file; name a folder')
        with tempfile.TemporaryDirectory(dir=there) as trial:
            (Path(trial) / folder.relative_to(there)).mkdir(parents=True, exist_ok=True)


@contextmanager
def _named(flag: str, path: str) -> Iterator[None]:
    if '\0' in path:  # Python's own error for this differs between 3.11 and 3.13
        raise UserError(f'--{flag}={path}: a path cannot hold a null character')
    try:
        yield
    except (OSError, ValueError) as error:  # of a path that no system supports
        reason = getattr(error, 'strerror', None) or error
        raise UserError(f'--{flag}={path}: it cannot be written to: {reason}') from None
