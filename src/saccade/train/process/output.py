# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Output paths of a launcher, checked before its work, so that no result is lost because it cannot be written."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from saccade.train.process.given import path_of
from saccade.types import UserError


def require_file(flag: str, path: str) -> None:
    """Refuse a file that cannot be written: its folder is missing or not writable, or the file is a folder.

    Raises:
        UserError: the file cannot be written; the message names the flag.
    """
    path_of(flag, path)
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
    folder = path_of(flag, path).absolute()
    with _named(flag, path):
        there = next(each for each in (folder, *folder.parents) if each.exists())
        if not there.is_dir():
            raise UserError(f'--{flag}={path}: {there} is a file; name a folder')
        with tempfile.TemporaryDirectory(dir=there) as trial:
            (Path(trial) / folder.relative_to(there)).mkdir(parents=True, exist_ok=True)


@contextmanager
def _named(flag: str, path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UserError(f'--{flag}={path}: it cannot be written to: {error.strerror}') from None
