# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Paths from users, and bounded reads of whole files: no hang on a pipe, no unbounded read of a device."""

import errno
import os
import stat
from pathlib import Path

from saccade.types import UserError

CONFIG_BYTES = 1 << 26  # 64 MiB: the largest config, index or manifest that is read
TOKENIZER_BYTES = 1 << 29  # 512 MiB: tokenizer files of large vocabularies have some 40 MB
RECORD_BYTES = 1 << 32  # 4 GiB: the records of a run, one per line


def expanded(path: str | Path) -> Path:
    """Return a path with `~` and `~user` replaced by the home folder; nothing needs to be there.

    Raises:
        UserError: the user has no home folder, or the path cannot be followed: a name in it is too long or has a null
            character, a folder may not be entered, or a link leads to itself. `Path.exists` and the like raise some of
            these as errors of the system, and which ones depends on the version of Python.
    """
    if '\0' in str(path):
        raise UserError(f'{path}: a path cannot hold a null character')
    try:
        whole = Path(path).expanduser()
    except RuntimeError:
        raise UserError(f'{path}: there is no home folder {Path(path).parts[0]}; write the whole path') from None
    try:
        whole.stat()
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        raise UserError(f'{path}: not a possible path: {error.strerror}') from error
    return whole


def missing(path: Path) -> UserError:
    """Return the error for a path that leads to nothing; with the current folder, if it is relative to that."""
    return UserError(f'{path}: there is no such file or folder{"" if path.is_absolute() else f" in {Path.cwd()}"}')


def read_regular(path: Path, most: int = CONFIG_BYTES) -> bytes:
    """Return the content of a regular file, or of the regular file that a link points to.

    Raises:
        OSError: the file cannot be read, is not a regular file (a pipe, a device), or has more than `most` bytes.
    """
    # Without O_NONBLOCK, opening a pipe waits until another program writes to it.
    with open(path, 'rb', opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, 'it is not a regular file', str(path))
        if status.st_size > most:
            raise OSError(errno.EFBIG, f'it has more than {most:,} bytes', str(path))
        return file.read()


def read_text(path: Path, most: int = CONFIG_BYTES) -> str:
    """Return the UTF-8 text of a regular file.

    Raises:
        OSError: as for `read_regular`.
        UnicodeDecodeError: the file is not UTF-8.
    """
    return read_regular(path, most).decode('utf-8')
