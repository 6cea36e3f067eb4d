# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Launchers in forks of a process that has imported what they import, for imports are most of a short run.

The process they are forked from has no thread and no device: a fork reads its flags and finds its devices by itself.
"""

import multiprocessing
import os
import runpy
import sys
import warnings
from collections.abc import Mapping, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path

PRELOADED = (
    'saccade.train.process.main',
    'saccade.train.loop',
    'saccade.inside.alignment',
    'saccade.inside.explorer',
    'saccade.inside.pictures',
    'saccade.decode.translator',
    # What these import when they use it.
    'saccade.train.config',
    'saccade.train.process.compilation_cache',
    'saccade.train.log.tensorboard',
    'saccade.data.corpus.named',
    'grain',
    'orbax.checkpoint',
)


def run(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], output: Sequence[Path], seconds: float = 240
) -> int:
    """Run a script with its arguments to its end, in a folder; return its exit status, and write what it prints.

    Raises:
        TimeoutError: it has not ended after so many seconds.
    """
    process = start(command, folder, environment, output)
    process.join(timeout=seconds)
    if process.exitcode is None:
        process.kill()
        raise TimeoutError(f'{" ".join(command)} has not ended')
    return process.exitcode


def start(command: Sequence[str], folder: Path, environment: Mapping[str, str], output: Sequence[Path]) -> BaseProcess:
    """Start what `run` runs to its end."""
    context = multiprocessing.get_context('forkserver')
    context.set_forkserver_preload(list(PRELOADED))
    process = context.Process(target=_launch, args=(list(command), folder, dict(environment), list(output)))
    process.start()
    return process


def _launch(command: list[str], folder: Path, environment: dict[str, str], output: list[Path]) -> None:
    for number, path in enumerate(output, start=1):  # standard output, and standard error
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), number)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.warnoptions.append('error::DeprecationWarning')
    warnings.simplefilter('error', DeprecationWarning)
    sys.argv = command
    sys.path[0] = str(Path(command[0]).parent)  # as Python has it of a script
    runpy.run_path(command[0], run_name='__main__')
