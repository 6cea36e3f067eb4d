# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What a run says: JSON lines for programs, events for TensorBoard, a display for people, and whatever the user adds.

A metric that is not finite is the string "NaN", "Infinity" or "-Infinity" in the file, because JSON has no
such numbers; `read` gives it back as a float. Finite floats are written so that they read back bit for bit.
"""

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import jax
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from tensorboardX import SummaryWriter

from saccade.train.terminal import say
from saccade.train.workdir import Workdir, write_atomically, writing
from saccade.types import Metrics, Sink, UserError

_NOT_FINITE = {'NaN': math.nan, 'Infinity': math.inf, '-Infinity': -math.inf}
_TEXT = ('split', 'text')
_IN_BAR = ('loss', 'tokens_per_second', 'mfu')
_WORDS = {'tokens_per_second': 'tokens/s {:,.0f}', 'mfu': 'MFU {:.1%}'}


class Log:
    """The log of a run. Only process 0 says anything.

    What was logged after the restored step is forgotten, for those steps will be run again. So log a step
    before it is saved: then a run that is killed in between has every step once.
    """

    def __init__(
        self,
        workdir: Path,
        steps: int,
        *,
        start: int = 0,
        console: Console | None = None,
        config: Mapping[str, Any] | None = None,
        sinks: Sequence[Sink] = (),
    ) -> None:
        """Open the log.

        Args:
            workdir: the run's folder.
            steps: how many the run is to take in all.
            start: the step that was restored; 0 starts the log anew.
            console: where people read; standard output by default.
            config: the run's, resolved, for the sinks that keep it.
            sinks: where the log goes beside the folder and the console.

        Raises:
            UserError: the log that is there is damaged, or the disk is full.
        """
        self._sinks: tuple[Sink, ...] = ()
        if jax.process_index() == 0:
            console = console or Console()
            self._display = (_Bar if console.is_terminal else _Lines)(console, steps)
            self._open((self._display, _Files(), _Events(), *sinks), Path(workdir), config or {}, start)

    def _open(self, sinks: Sequence[Sink], folder: Path, config: Mapping[str, Any], start: int) -> None:
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
        try:
            for sink in reversed(sinks):  # the display last: the others may have something to print
                sink.open(folder, config, start)
                self._sinks = (sink, *self._sinks)
        except BaseException:
            self.close()
            raise

    def plan(self, metrics: Metrics) -> None:
        """Keep what the run is going to cost, as step 0 of the split 'plan'; people have seen it already.

        Raises:
            UserError: the disk is full.
        """
        for sink in self._sinks:
            if sink is not self._display:
                sink.write(0, 'plan', metrics)

    def write(self, step: int, split: str, metrics: Metrics) -> None:
        """Log the metrics of one step of one split; `tokens_per_second` and `mfu` (of 1) are shown as such.

        Raises:
            UserError: the disk is full, or a metric is called 'step' or 'split'.
        """
        if metrics.keys() & {'step', 'split'}:
            raise UserError(f"{split}: a metric may not be called 'step' or 'split'")
        metrics = {name: value if isinstance(value, int) else float(value) for name, value in metrics.items()}
        for sink in self._sinks:
            sink.write(step, split, metrics)

    def sample(self, step: int, text: str) -> None:
        """Show and keep what the model made at one step.

        Raises:
            UserError: the disk is full.
        """
        for sink in self._sinks:
            sink.sample(step, text)

    def close(self) -> None:
        """Finish the display, the files and then the other sinks, each of them even if one before it fails."""
        with ExitStack() as closing:
            for sink in reversed(self._sinks):  # a stack is unwound from its end
                closing.callback(sink.close)

    def __enter__(self) -> 'Log':
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()


def read(path: Path) -> list[dict[str, Any]]:
    """Return the records of metrics.jsonl or samples.jsonl, without a last line that a kill has cut short.

    Raises:
        UserError: another line is not a record.
    """
    return [
        {key: value if key in _TEXT else _NOT_FINITE.get(value, value) for key, value in record.items()}
        for _, record in _records(path)
    ]


class _Files:
    """The two files of JSON lines."""

    def open(self, folder: Path, config: Mapping[str, Any], start: int) -> None:
        files = Workdir(folder)
        self._metrics, self._samples = _reopen(files.metrics, start), _reopen(files.samples, start)
        self._folder = folder

    def write(self, step: int, split: str, metrics: Metrics) -> None:
        values = {name: _json_number(value) for name, value in metrics.items()}
        self._append(self._metrics, {'step': step, 'split': split, **values})

    def sample(self, step: int, text: str) -> None:
        self._append(self._samples, {'step': step, 'text': text})

    def close(self) -> None:
        self._metrics.close()
        self._samples.close()

    def _append(self, file: Any, record: Mapping[str, Any]) -> None:
        with writing(self._folder):
            file.write(json.dumps(record, allow_nan=False).encode() + b'\n')


class _Events:
    """TensorBoard's events. Those of the steps to be run again are purged when TensorBoard reads them."""

    def open(self, folder: Path, config: Mapping[str, Any], start: int) -> None:
        events, suffix = Workdir(folder).events, f'.{start}.{os.getpid()}'
        with writing(events):
            self._writer = SummaryWriter(str(events), purge_step=start + 1 if start else 0, filename_suffix=suffix)

    def write(self, step: int, split: str, metrics: Metrics) -> None:
        for name, value in metrics.items():
            if math.isfinite(value):
                self._writer.add_scalar(f'{split}/{name}', float(value), step)  # it takes no int past 64 bits

    def sample(self, step: int, text: str) -> None:
        self._writer.add_text('sample', text, step)

    def close(self) -> None:
        self._writer.close()


class _Lines:
    """Plain lines, for a file or a pipe."""

    def __init__(self, console: Console, steps: int) -> None:
        self._console, self._steps = console, steps

    def open(self, folder: Path, config: Mapping[str, Any], start: int) -> None:
        pass

    def write(self, step: int, split: str, metrics: Metrics) -> None:
        say(self._console, f'step {step}/{self._steps}  {split}  {_words(metrics)}')

    def sample(self, step: int, text: str) -> None:
        say(self._console, f'sample at step {step}:\n{text}')

    def close(self) -> None:
        pass


class _Bar:
    """A bar, for a terminal; what is not of training is printed above it."""

    def __init__(self, console: Console, steps: int) -> None:
        self._lines, self._steps = _Lines(console, steps), steps
        self._progress = Progress(
            TextColumn('{task.description}'),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn('{task.fields[words]}', markup=False),
            TimeRemainingColumn(),
            console=console,
            refresh_per_second=2,
        )

    def open(self, folder: Path, config: Mapping[str, Any], start: int) -> None:
        self._task = self._progress.add_task('training', total=self._steps, completed=start, words='')
        self._progress.start()

    def write(self, step: int, split: str, metrics: Metrics) -> None:
        if split != 'train':
            self._lines.write(step, split, metrics)
            return
        shown = {name: metrics[name] for name in _IN_BAR if name in metrics}
        self._progress.update(self._task, completed=step, words=_words(shown))

    def sample(self, step: int, text: str) -> None:
        self._lines.sample(step, text)

    def close(self) -> None:
        self._progress.stop()


def _reopen(path: Path, start: int) -> Any:
    """Open a file of records for appending, without those after `start`."""
    kept = [line for line, record in _records(path) if start and record['step'] <= start]
    with writing(path.parent):
        if path.exists():
            write_atomically(path, b''.join(line + b'\n' for line in kept))
        return path.open('ab', buffering=0)  # unbuffered: a line is in the file, or the call has failed


def _records(path: Path) -> Iterator[tuple[bytes, dict[str, Any]]]:
    lines = path.read_bytes().splitlines() if path.exists() else []
    for number, line in enumerate(lines, start=1):
        try:
            record = json.loads(line)
            if not isinstance(record.get('step'), int):
                raise ValueError("it has no 'step'")
        except (ValueError, AttributeError) as error:
            if number == len(lines):
                return
            raise UserError(f'{path}: line {number} is damaged: {error}; mend or remove the file') from error
        yield line, record


def _json_number(value: float | int) -> float | int | str:
    if math.isfinite(value):
        return value
    return 'NaN' if math.isnan(value) else 'Infinity' if value > 0 else '-Infinity'


def _words(metrics: Metrics) -> str:
    return '  '.join(
        _WORDS[name].format(value) if name in _WORDS else f'{name} {value:.5g}' for name, value in metrics.items()
    )
