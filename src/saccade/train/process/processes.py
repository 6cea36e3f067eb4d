# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Multi-process runs: how processes connect, stop after the same step, and end when one of them is lost.

JAX's distributed runtime finds the other processes of a Slurm step or a TPU slice, monitors them, and notifies all when
one receives a stop signal. A process that fails leaves at once, since the others wait for it in a sum.
"""

import faulthandler
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import jax
from jax.experimental import multihost_utils

from saccade.types import UserError

HEARTBEAT = 30  # seconds without a heartbeat after which a process counts as lost
# A scheduler sends one of these before it ends a job; the choice is the cluster's.
STOPS = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2)

_HEAD_START = 3  # seconds that process 0 gives the others to report the same error: without it JAX aborts them
_SEEN_WITHIN = 90  # seconds for which a host may cache the absence of a file
_AGAIN = 'start all its processes again, and the run goes on from its last checkpoint'
_ABORTED = 'this process was killed, or aborted by JAX, which had lost another process of the run or found none'
# Waits for a word from the process that started it; if that process ends without one, prints the message for it.
_WORD = b'done\n'
_WATCH = 'trap "" TERM INT USR1 USR2; read word || echo "$0" >&2'
# Messages of the sums of some device, and of the runtime's barriers, when another process is lost.
_LOST = re.compile(r'Gloo|NCCL|heartbeat|barrier|UNAVAILABLE|DEADLINE_EXCEEDED|[Cc]onnection (reset|closed|refused)')


@dataclass(frozen=True)
class Meeting:
    """Rendezvous of the processes of a run. JAX finds fields that are None: from Slurm, Open MPI or the TPU slice.

    Attributes:
        coordinator: host:port of process 0.
        processes: number of processes.
        process: number of this process, from 0.

    Raises:
        UserError: the coordinator is not HOST:PORT, or the number is out of the range of processes.
    """

    coordinator: str | None = None
    processes: int | None = None
    process: int | None = None

    @contextmanager
    def joined(self) -> Iterator[None]:
        """Connect to the others as one run; an exception inside ends this process, and so the others.

        Raises:
            UserError: the others are not found.
        """
        watcher = subprocess.Popen(['sh', '-c', _WATCH, f'error: {_ABORTED}: {_AGAIN}'], stdin=subprocess.PIPE)
        try:
            self._join()
        except UserError:
            watcher.communicate(_WORD)
            raise
        try:
            yield
        except BaseException as error:
            _leave(error, watcher)
        jax.distributed.shutdown()
        watcher.communicate(_WORD)

    def __post_init__(self) -> None:
        _, _, port = (self.coordinator or 'host:0').rpartition(':')
        if not re.fullmatch(r'[^\s:]+:[0-9]+|\[[^\s\]]+\]:[0-9]+', self.coordinator or 'host:0') or int(port) > 65535:
            raise UserError(f'--coordinator={self.coordinator}: write HOST:PORT, as node1:1234')  # JAX would abort
        if self.processes is not None and not 0 <= (self.process or 0) < self.processes:
            raise UserError(
                f'--process={self.process}: must be from 0 to {self.processes - 1} with --processes={self.processes}'
            )

    def _join(self) -> None:
        # With one Slurm task per host, JAX would give it only the first of the host's GPUs.
        alone = os.environ.get('SLURM_NTASKS') == os.environ.get('SLURM_STEP_NUM_NODES', '')
        ours = range(len(gpus())) if alone else None
        try:
            jax.distributed.initialize(
                self.coordinator,
                self.processes,
                self.process,
                local_device_ids=ours or None,
                heartbeat_timeout_seconds=HEARTBEAT,
            )
        except (ValueError, TypeError) as error:
            raise UserError(
                f'--distributed: no Slurm step, Open MPI run or TPU slice found here ({error}); start it in one, or '
                f'give --coordinator=HOST:PORT --processes=COUNT --process=NUMBER'
            ) from error
        except jax.errors.JaxRuntimeError as error:
            raise UserError(f'the {self.processes or ""} processes did not meet: {_first_line(error)}') from error


@contextmanager
def stop_signal(numbers: Sequence[signal.Signals] = STOPS) -> Iterator[Callable[[], bool]]:
    """Collect signals that would end the process; the yielded function returns True if one was received."""
    received: list[int] = []
    with _handled(lambda number, _: received.append(number), numbers):
        yield lambda: bool(received)


class Stop:
    """Stop signals of this process: each is reported at once, and obeyed when no work is lost.

    Before `training` there is nothing to save, and a signal ends the process. From then on the run asks whether to stop
    after each step and, by `now`, after each batch of an evaluation. A thread reports the signals, since Python's own
    handlers wait while XLA compiles. Several processes stop after the same step; they do not stop in an evaluation.
    """

    def __init__(self) -> None:
        self._received: list[int] = []
        self._saves = False

    @contextmanager
    def heard(self) -> Iterator['Stop']:
        """Handle the signals; a process that trains with others leaves this to JAX's runtime."""
        if jax.distributed.is_initialized():
            yield self
            return
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        threading.Thread(target=self._answer, args=(reader,), name='signals', daemon=True).start()
        with _handled(lambda number, _: self._received.append(number), STOPS):
            before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
            try:
                yield self
            finally:
                signal.set_wakeup_fd(before)
                os.close(writer)  # which ends the thread

    @contextmanager
    def training(self) -> Iterator[Callable[[int], bool]]:
        """Mark the start of training. Yields a function of the step: True to stop, on all processes alike."""
        self._saves = True
        if not jax.distributed.is_initialized():
            yield lambda step: self.now()
            return
        # JAX's runtime handles SIGTERM: the processes agree on a step that none has passed.
        others = tuple(number for number in STOPS if number != signal.SIGTERM)
        with _handled(lambda *_: os.kill(os.getpid(), signal.SIGTERM), others):
            yield multihost_utils.reached_preemption_sync_point

    def now(self) -> bool:
        """Return True if a signal was received."""
        return bool(self._received)

    def _answer(self, reader: int) -> None:
        while numbers := os.read(reader, 1):
            if numbers[0] not in STOPS:
                continue
            name = signal.Signals(numbers[0]).name
            if self._saves:
                os.write(2, f'{name}: stopping after this step or batch; the training state will be saved\n'.encode())
            else:
                os.write(2, f'{name}: stopped before training; there was nothing to save\n'.encode())
                os._exit(128 + numbers[0])
        os.close(reader)


def _forget_signals() -> None:
    """Reset the wakeup file descriptor in a fork: its signals are not for the parent process."""
    signal.set_wakeup_fd(-1)


os.register_at_fork(after_in_child=_forget_signals)


def require_shared(file: Path) -> None:
    """Wait until process 0 has written a file and all processes see it.

    Raises:
        UserError: this process does not see it within the delay that a network disk may have.
    """
    if jax.process_count() == 1:
        return
    multihost_utils.sync_global_devices(file.name)
    deadline = time.monotonic() + _SEEN_WITHIN
    while not file.exists():
        if time.monotonic() > deadline:
            raise UserError(
                f'{file.parent}: process {jax.process_index()} does not see a file that process 0 has written: name a '
                f'folder on a disk that all hosts share'
            )
        time.sleep(1)


def gpus() -> list[str]:
    """Return the GPUs that a process started from here would use, without initialising them."""
    if os.environ.get('JAX_PLATFORMS') == 'cpu':
        return []
    if 'CUDA_VISIBLE_DEVICES' in os.environ:
        named = map(str.strip, os.environ['CUDA_VISIBLE_DEVICES'].split(','))
        return [gpu for gpu in named if gpu not in ('', '-1')]
    if not shutil.which('nvidia-smi'):
        return []
    listed = subprocess.run(['nvidia-smi', '--list-gpus'], capture_output=True, text=True, check=False)
    return [str(number) for number, _ in enumerate(listed.stdout.splitlines())] if listed.returncode == 0 else []


@contextmanager
def _handled(handler: Callable, numbers: Sequence[signal.Signals]) -> Iterator[None]:
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _leave(error: BaseException, watcher: subprocess.Popen) -> None:
    """Report an error and exit at once: an orderly exit waits for the others, which wait for this process."""
    # JAX aborts a process that has lost another, often during its exit: a stack trace would hide the report.
    faulthandler.disable()
    status = 1
    if isinstance(error, UserError):
        status = 2
        print(f'error: {error}', file=sys.stderr)
    elif isinstance(error, KeyboardInterrupt):
        status = 130
        print('stopped by Ctrl-C', file=sys.stderr)
    elif _LOST.search(str(error)):
        lost = f'process {jax.process_index()} has lost another process of this run ({_first_line(error)})'
        print(f'error: {lost}: {_AGAIN}', file=sys.stderr)
    else:
        traceback.print_exception(error)
    sys.stdout.flush()
    sys.stderr.flush()
    if isinstance(error, UserError) and jax.process_index() == 0:
        time.sleep(_HEAD_START)
    watcher.communicate(_WORD)
    os._exit(status)


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
