# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Worker processes, from the coordinator's side."""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from saccade.types import UserError

# Peers run on the CPU, and so do we beside them; and what was compiled in an earlier run is compiled again.
ENVIRONMENT = {'JAX_PLATFORMS': 'cpu', 'CUDA_VISIBLE_DEVICES': '', 'TORCHINDUCTOR_FORCE_DISABLE_CACHES': '1'}


_ROOT = str(Path(__file__).parents[1])  # of the repository, from which the worker imports this package


class LateError(UserError):
    """A worker that took longer than it was given."""


class Worker:
    """Worker process of a variant. A context manager; the process ends with it.

    Attributes: environment, further variables of the process.
    """

    environment: Mapping[str, str] = ENVIRONMENT

    def __init__(self, name: str, target: str, **arguments: Any) -> None:
        """Start the process and wait until the variant is made.

        Args:
            name: of the variant, for messages.
            target: import path of its class, 'package.module:Class'.

        Raises:
            UserError: it could not be made.
        """
        self.name = name
        self._errors = tempfile.TemporaryFile('w+')  # noqa: SIM115, it lives as long as the process
        path = os.pathsep.join(filter(None, [_ROOT, os.environ.get('PYTHONPATH')]))
        self._process = subprocess.Popen(
            [sys.executable, '-m', 'benchmarks.worker', target, json.dumps(arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env={**os.environ, **self.environment, 'PYTHONPATH': path},
        )
        try:
            self._answer()
        except BaseException:
            self.close()
            raise

    def ask(self, method: str, **arguments: Any) -> Any:
        """Call a method of the variant and wait for its value.

        Raises:
            UserError: it failed, or the process has ended; the error's first line is shown.
        """
        try:
            print(json.dumps([method, arguments]), file=self._process.stdin, flush=True)
        except BrokenPipeError:
            raise self._ended() from None
        return self._answer()

    def ask_within(self, seconds: float, method: str, **arguments: Any) -> Any:
        """Call a method as `ask` does, and end the process after so many seconds.

        Raises:
            LateError: they are over.
            UserError: as `ask` raises it.
        """
        late = threading.Event()

        def end() -> None:
            late.set()
            self._process.kill()

        timer = threading.Timer(seconds, end)
        timer.start()
        try:
            return self.ask(method, **arguments)
        except UserError:
            if late.is_set():
                raise LateError(f'{self.name}: {method} took more than {seconds:.0f} s') from None
            raise
        finally:
            timer.cancel()

    def close(self) -> None:
        """End the process, at once if it is at work."""
        self._process.kill()
        self._process.communicate()
        self._errors.close()

    def __enter__(self) -> 'Worker':
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()

    def _answer(self) -> Any:
        line = self._process.stdout.readline()
        if not line:
            raise self._ended()
        answer = json.loads(line)
        if 'error' in answer:
            lines = (line for line in answer['error'].splitlines() if line.strip())
            raise UserError(f'{self.name} failed: {next(lines, answer["error"])}')
        return answer['value']

    def _ended(self) -> UserError:
        status = self._process.wait()
        self._errors.seek(0)
        last = self._errors.read().strip().rpartition('\n')[2]
        return UserError(f'{self.name}: its process ended with status {status}{f": {last}" if last else ""}')


def require(*packages: str, install: str = '-e .[benchmark]') -> None:
    """Refuse to go on without the peers' packages.

    Args:
        install: what pip installs for them.

    Raises:
        UserError: one is not installed.
    """
    for package in packages:
        if importlib.util.find_spec(package) is None:
            raise UserError(f'{package} is not installed; it is a peer: pip install {install}')
