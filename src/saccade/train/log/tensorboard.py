# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""TensorBoard events of a run, written without TensorFlow, without torch and without a thread."""

import math
import os
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from saccade.train.workdir import Workdir, writing
from saccade.types import Metrics

_FLUSH_SECONDS = 30.0  # longest time until TensorBoard sees what was logged


@contextmanager
def _without_torch() -> Iterator[None]:
    """Keep tensorboardX from importing torch, which takes seconds; it never receives tensors of torch."""
    there = 'torch' in sys.modules
    if not there:
        sys.modules['torch'] = None  # makes its import fail
    try:
        yield
    finally:
        if not there:
            del sys.modules['torch']


with _without_torch():
    from tensorboardX import summary
    from tensorboardX.proto.event_pb2 import Event, SessionLog
    from tensorboardX.record_writer import RecordWriter


class TensorBoard:
    """TensorBoard sink. Events of steps that will run again are purged when TensorBoard reads them."""

    def open(self, folder: Path, config: Mapping[str, Any], start: int) -> None:
        """Open a new event file in the run's folder, and purge the events of steps after `start`.

        Raises:
            UserError: the disk is full or cannot be written to.
        """
        self._events = Workdir(folder).events
        name = f'events.out.tfevents.{time.time():.0f}.{socket.gethostname()}.{start}.{os.getpid()}'
        with writing(self._events):
            self._events.mkdir(parents=True, exist_ok=True)
            self._writer = RecordWriter(str(self._events / name))
            self._flushed = time.monotonic()
        purged = start + 1 if start else 0
        with ExitStack() as begun:
            begun.callback(self.close)  # only an open sink is closed by the log
            self._add(Event(file_version='brain.Event:2'))
            self._add(Event(step=purged, session_log=SessionLog(status=SessionLog.START)))
            begun.pop_all()

    def write(self, step: int, split: str, metrics: Metrics) -> None:
        """Write the finite metrics of one step as scalars named 'SPLIT/METRIC'.

        Raises:
            UserError: the disk is full or cannot be written to.
        """
        for name, value in metrics.items():
            if math.isfinite(value):
                scalar = summary.scalar(f'{split}/{name}', float(value))  # it accepts no int beyond 64 bits
                self._add(Event(step=step, summary=scalar))

    def sample(self, step: int, text: str) -> None:
        """Write the model's output at one step as a text summary.

        Raises:
            UserError: the disk is full or cannot be written to.
        """
        self._add(Event(step=step, summary=summary.text('sample', text)))

    def close(self) -> None:
        """Flush and close the event file.

        Raises:
            UserError: the disk is full or cannot be written to.
        """
        with writing(self._events):
            self._writer.close()

    def _add(self, event: Event) -> None:
        event.wall_time = time.time()
        with writing(self._events):
            self._writer.write(event.SerializeToString())
            if time.monotonic() - self._flushed > _FLUSH_SECONDS:
                self._writer.flush()
                self._flushed = time.monotonic()
