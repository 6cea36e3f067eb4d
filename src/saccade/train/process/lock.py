# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""File locks, which keep a second process out of a folder. The kernel releases a lock when its process dies."""

import errno
import fcntl
import logging
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from saccade.train.workdir import open_own, writing
from saccade.types import UserError

_NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)  # of filesystems without locks
_log = logging.getLogger(__name__)


@contextmanager
def locked(path: Path, busy: Callable[[str], Any]) -> Iterator[int]:
    """Hold the lock of a file, which is created with its folder. The file stays, and names the last holder.

    Args:
        path: of the file.
        busy: called with the name of the process that holds the lock, if one does; raises to give up, returns to wait.

    Returns:
        A file descriptor. A process that inherits it holds the lock too.

    Raises:
        UserError: the file cannot be written to, or is a symbolic link.
    """
    with writing(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        file = open_own(path, 'a+b', buffering=0)
    with file:
        if not _taken(file):
            file.seek(0)
            busy(file.read().decode(errors='replace').strip() or 'another process')
            fcntl.flock(file, fcntl.LOCK_EX)
        with writing(path.parent):
            file.truncate(0)
            file.write(f'process {os.getpid()} on {socket.gethostname()}'.encode())
        yield file.fileno()


def require_idle(path: Path, busy: str) -> None:
    """Check that no process holds the lock of a file, without taking it.

    Raises:
        UserError: one does; `busy` says what that means.
    """
    if name := holder(path):
        raise UserError(f'{busy} by {name}; wait until it ends')


def holder(path: Path) -> str:
    """Return the name of the process that holds the lock of a file; '' if none does."""
    with suppress(OSError), path.open('rb') as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return file.read().decode(errors='replace').strip() or 'another process'
    return ''


def _taken(file: BinaryIO) -> bool:
    """Take the lock unless another process holds it; on a filesystem without locks, warn and continue without it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        _log.warning('%s: this filesystem has no locks, so nothing keeps a second process out', file.name)
    return True
