# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The lock of a folder: who is kept out, who is named, and that the kernel releases it."""

import errno
import fcntl
import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager

import pytest

from saccade.train.process.lock import locked
from saccade.types import UserError

# Holds the lock as `locked` does, without the seconds that its imports take.
HOLDS = """
import fcntl, os, socket, sys

with open(sys.argv[1], 'w') as file:
    fcntl.flock(file, fcntl.LOCK_EX)
    print(f'process {os.getpid()} on {socket.gethostname()}', end='', file=file, flush=True)
    print('held', flush=True)
    sys.stdin.read()
"""


@contextmanager
def held_by_another(path):
    """The process that holds the lock; it ends when its input does."""
    command, pipe = [sys.executable, '-S', '-c', HOLDS, str(path)], subprocess.PIPE
    with subprocess.Popen(command, text=True, stdin=pipe, stdout=pipe) as process:
        try:
            assert process.stdout.readline() == 'held\n'
            yield process
        finally:
            process.kill()


def refuse(holder):
    raise UserError(holder)


def test_a_second_process_is_told_who_holds_it_until_that_dies(tmp_path):
    path = tmp_path / '.lock'
    with held_by_another(path) as other:
        named = re.escape(f'process {other.pid} on {socket.gethostname()}')
        for _ in range(2):
            with pytest.raises(UserError, match=f'^{named}$'), locked(path, refuse):
                pytest.fail('two hold it')
        other.send_signal(signal.SIGKILL)
        other.wait()
        with locked(path, refuse):
            assert path.read_text() == f'process {os.getpid()} on {socket.gethostname()}'


def test_who_may_wait_gets_it_when_the_other_lets_go(tmp_path):
    path = tmp_path / '.lock'
    with held_by_another(path) as other, locked(path, lambda holder: other.stdin.close()):
        assert str(os.getpid()) in path.read_text()


def test_the_same_process_may_not_take_it_twice(tmp_path):
    with locked(tmp_path / '.lock', refuse), pytest.raises(UserError), locked(tmp_path / '.lock', refuse):
        pytest.fail('it was taken twice')
    with locked(tmp_path / 'new' / '.lock', refuse):
        pass


def test_a_filesystem_without_locks_is_said(tmp_path, monkeypatch, caplog):
    def unknown(*_):
        raise OSError(errno.ENOSYS, 'Function not implemented')

    monkeypatch.setattr(fcntl, 'flock', unknown)
    with locked(tmp_path / '.lock', refuse):
        pass
    assert 'this filesystem has no locks' in caplog.text


def test_a_link_in_the_place_of_the_lock_is_refused_and_not_written_through(tmp_path):
    (tmp_path / 'letter.txt').write_text('Dear')
    (tmp_path / '.lock').symlink_to(tmp_path / 'letter.txt')
    with (
        pytest.raises(UserError, match=r'\.lock: is a symbolic link, and the run writes a file there'),
        locked(tmp_path / '.lock', busy=pytest.fail),
    ):
        pass
    assert (tmp_path / 'letter.txt').read_text() == 'Dear'
