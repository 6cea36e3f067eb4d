# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Worker process, of the local engine or in a Slurm job: runs of one program, each as in a separate process.

    python -P -m saccade.sweep.worker SOCKET

The engine sends a job through a socket pair: one byte with two file descriptors, the log and the lock that a run keeps
open, and the command as a line of JSON. The worker calls the launcher in the command, and answers with a byte if the
run succeeded. Otherwise the process ends as the run does, so the exit status of any failure is a process's own. When
the engine ends, it closes the socket, and the worker ends after the current run.

A worker serves a single program. Import-time settings of a run's code (options of JAX, warnings, the environment,
patched libraries) are thus common to all runs that it serves, and no other variant sees them. Between two runs it
restores the flags, the trusted names, the command line and the working directory; everything else belongs to the runs,
and is closed with them. A worker whose code has changed since its start replaces itself by the command.
"""

import functools
import importlib.util
import json
import os
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType

from saccade import trust

DONE = b'\n'  # answer after a successful job


def send(engine: socket.socket, command: Sequence[str], log: int, lock: int) -> None:
    """Send a job to a free worker.

    Raises:
        OSError: the worker has ended.
    """
    socket.send_fds(engine, [b' '], [log, lock])
    engine.sendall(json.dumps(command).encode() + b'\n')


def work(engine: socket.socket) -> None:
    """Execute jobs until the engine has no more."""
    began, folder, environment = time.time(), os.getcwd(), {**os.environ}
    for command, log, lock in _jobs(engine):
        for output in (1, 2):
            os.dup2(log, output)
        os.close(log)
        os.chdir(folder)
        if _changed_since(began):
            os.set_inheritable(lock, True)
            os.execve(command[0], command, environment)
        os.environ[trust.VARIABLE] = environment.get(trust.VARIABLE, '')  # flags add to it
        _run(command)
        sys.stdout.flush()
        sys.stderr.flush()
        os.close(lock)
        try:
            engine.sendall(DONE)
        except OSError:  # the launch has ended
            return


def _jobs(engine: socket.socket) -> Iterator[tuple[list[str], int, int]]:
    """Yield commands, each with the file descriptors of its log and of its lock."""
    with engine.makefile('rb') as lines:
        while True:
            byte, descriptors, _, _ = socket.recv_fds(engine, 1, 2)
            if not byte:
                return
            yield json.loads(lines.readline()), *descriptors


def _run(command: list[str]) -> None:
    """Run a launcher as the interpreter would run its file.

    Raises:
        SystemExit: the run ended with a non-zero status.
    """
    sys.orig_argv, sys.argv = command, command[1:]
    launcher = _launcher(command[1])
    from absl import flags

    from saccade.train.process.main import run_main

    importlib.invalidate_caches()
    flags.FLAGS.unparse_flags()
    try:
        run_main(launcher.main)
    except SystemExit as ended:
        if ended.code:
            raise


@functools.cache
def _launcher(file: str) -> ModuleType:
    """Load the file of a launcher once, since its flags can be defined only once in a process."""
    sys.path.insert(0, str(Path(file).parent))  # as for a script
    spec = importlib.util.spec_from_file_location(f'saccade_launcher_{Path(file).stem}', file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _changed_since(seconds: float) -> bool:
    """True if the file of an imported module was changed or removed since a time."""
    files = {getattr(module, '__file__', None) for module in [*sys.modules.values()]}
    try:
        return any(os.stat(file).st_ctime >= seconds for file in files if file and os.path.isabs(file))
    except OSError:
        return True


if __name__ == '__main__':
    descriptor = int(sys.argv[1])
    os.set_inheritable(descriptor, False)
    with socket.socket(fileno=descriptor) as engine:
        work(engine)
