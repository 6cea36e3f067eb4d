# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Background sinks: each runs in a thread of its own, so that training continues if the sink fails or blocks.

Calls wait in a queue for the thread. A sink that fails, or whose queue is full, is named in one warning and receives
nothing more. After training it has a limited time to finish.
"""

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from saccade.types import Metrics, Sink, UserError

WAITING = 10_000  # calls that may wait for a sink
CLOSE_SECONDS = 90.0  # limit for all sinks together to finish after training

_log = logging.getLogger(__name__)


class _FailedRunError(Exception):
    """Error that a sink's thread raises in place of the error that ends the run."""


class Background:
    """Background sink, which passes the log on to a sink in a separate thread."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._calls: queue.Queue[Callable[[], None]] = queue.Queue(WAITING)
        self._left_out = threading.Event()
        self._opened = self._ended = False
        self._thread = threading.Thread(target=self._work, name=f'log: {self.name}', daemon=True)
        self._thread.start()

    @property
    def name(self) -> str:
        """Name of the sink: its class."""
        return type(self._sink).__name__.removeprefix('_')

    def open(self, folder: Path, config: Mapping[str, Any], start: int) -> None:
        """Queue the sink's `open`."""
        self._put(lambda: self._open(folder, config, start))

    def write(self, step: int, split: str, metrics: Metrics) -> None:
        """Queue the metrics of one step of one split."""
        self._put(lambda: self._sink.write(step, split, metrics))

    def sample(self, step: int, text: str) -> None:
        """Queue a sample of the model's output at one step."""
        self._put(lambda: self._sink.sample(step, text))

    def close(self, failed: bool) -> None:
        """Queue the sink's `close`, without waiting for it.

        Args:
            failed: True if an error ends the run. The sink then sees one in `sys.exc_info`.
        """
        self._put(lambda: self._close(failed))

    def join(self, seconds: float) -> None:
        """Wait up to `seconds` for the sink to finish."""
        if not self._left_out.is_set():
            self._thread.join(seconds)
            if self._thread.is_alive():
                self._leave_out(f'it has not finished within {CLOSE_SECONDS:.0f} seconds')

    def _put(self, call: Callable[[], None]) -> None:
        if not self._left_out.is_set():
            try:
                self._calls.put_nowait(call)
            except queue.Full:
                self._leave_out(f'{WAITING:,} records wait for it')

    def _work(self) -> None:
        try:
            while not self._ended and not self._left_out.is_set():
                self._calls.get()()
        except BaseException as error:  # a failure of the thread must be reported, even a SystemExit
            words = ' '.join(str(error).split())
            self._leave_out(words if isinstance(error, UserError) else f'{type(error).__name__}: {words}')
        if self._opened and not self._ended:
            self._ended = True
            with suppress(BaseException):
                self._sink.close()

    def _open(self, folder: Path, config: Mapping[str, Any], start: int) -> None:
        self._sink.open(folder, config, start)
        self._opened = True

    def _close(self, failed: bool) -> None:
        self._ended = True
        if not self._opened:
            return
        with suppress(_FailedRunError):
            try:
                if failed:
                    raise _FailedRunError
            finally:
                self._sink.close()

    def _leave_out(self, why: str) -> None:
        self._left_out.set()
        _log.warning('%s receives no more of the log, and the run continues without it: %s', self.name, why)


def close_all(sinks: Iterable[Background], failed: bool) -> None:
    """Close all sinks at the same time, and wait for all of them for `CLOSE_SECONDS` at most."""
    sinks, deadline = list(sinks), time.monotonic() + CLOSE_SECONDS
    for sink in sinks:
        sink.close(failed)
    for sink in sinks:
        sink.join(max(deadline - time.monotonic(), 0.0))
