# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Execution of commands, and one-line messages for gcloud's errors."""

import json
import os
import re
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from saccade.cloud.command import Command, CommandResult
from saccade.types import UserError

_KEPT = 200  # last lines of a command's output that are kept
_SHOWN = 400  # longest error of gcloud that is shown, in characters
_REFUSED = 'ERROR: (gcloud'
_NOT_THERE = re.compile(r'\bNOT_FOUND\b|was not found', re.IGNORECASE)
_NO_CAPACITY = re.compile(r'capacity|stockout', re.IGNORECASE)
# Pattern of gcloud's error, and our message; {} is gcloud's own text.
_ADVICE = (
    (r'not currently have an active account|gcloud auth login', 'gcloud is not logged in: run `gcloud auth login`'),
    (r'attribute \[project\]', 'no Google Cloud project: give --project=ID'),
    (r'quota', 'over your quota, which https://console.cloud.google.com/iam-admin/quotas shows and raises: {}'),
    (r'', 'could not {purpose}: {}'),
)


class NoCapacityError(UserError):
    """Error for a zone without capacity for this TPU type at present."""


class Gcloud:
    """CommandRunner that executes commands on this machine and shows their output as it comes."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show

    def do(self, command: Command, seconds: float | None = None) -> CommandResult:
        """Run a command. gcloud's own error is not shown, since the raised message contains it."""
        lines: deque[str] = deque(maxlen=_KEPT)
        failed = False
        with _started(command.argv, stderr=subprocess.STDOUT) as process, _bounded(process, seconds):
            for line in process.stdout:
                lines.append(line)
                failed = failed or _REFUSED in line
                if not failed:
                    self._show(line.rstrip('\n'))
        return CommandResult(command, process.returncode, tuple(lines))

    def ask(self, command: Command) -> Any:
        """Run a command that answers in JSON; return the answer, or None where its subject does not exist.

        Raises:
            UserError: the command failed.
        """
        with _started(command.argv, stderr=subprocess.PIPE) as process:
            answer, errors = process.communicate()
        if process.returncode == 0:
            return json.loads(answer)
        if _NOT_THERE.search(errors):
            return None
        raise refusal(CommandResult(command, process.returncode, tuple(errors.splitlines())))


def refused(ended: CommandResult) -> bool:
    """True if gcloud itself failed, rather than the program on a host."""
    return any(_REFUSED in line for line in ended.output)


def refusal(ended: CommandResult) -> UserError:
    """Return a one-line error with the reason of a failure and, where known, the remedy."""
    said = _message(ended)
    if _NO_CAPACITY.search(said):
        return NoCapacityError(f'no capacity for this TPU at present: {said}; --queued waits for capacity')
    advice = next(advice for pattern, advice in _ADVICE if re.search(pattern, said, re.IGNORECASE))
    return UserError(advice.format(said, purpose=ended.command.purpose))


def _message(ended: CommandResult) -> str:
    """Return what gcloud printed after `ERROR: (gcloud.the.command)`, in prose or JSON; without that, its last line."""
    text = '\n'.join(line.rstrip('\n') for line in ended.output)
    _, marked, error = text.rpartition(_REFUSED)
    error = error.partition(') ')[2].partition('\nUsage:')[0] if marked else text.strip().rpartition('\n')[2]
    with suppress(ValueError, KeyError, TypeError):  # usually prose
        error = json.loads(error)['message']
    error = ' '.join(error.split()) or f'exit status {ended.status}'
    return error if len(error) <= _SHOWN else f'{error[:_SHOWN]} ...'


@contextmanager
def _bounded(process: subprocess.Popen[str], seconds: float | None) -> Iterator[None]:
    """Context that ends a process after `seconds`, or when its waiter is interrupted."""
    clock = threading.Timer(seconds or threading.TIMEOUT_MAX, _end, [process])
    clock.daemon = True
    try:
        clock.start()
        yield
    except BaseException:
        _end(process)
        raise
    finally:
        clock.cancel()


def _end(process: subprocess.Popen[str]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)


def _started(argv: Sequence[str], stderr: int) -> subprocess.Popen[str]:
    try:
        return subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            errors='replace',
            start_new_session=True,  # includes one ssh per host, which must end with it
        )
    except FileNotFoundError:
        raise UserError(
            f'there is no `{argv[0]}` on the PATH: install the Google Cloud CLI, '
            'https://cloud.google.com/sdk/docs/install, and run `gcloud auth login`'
        ) from None
