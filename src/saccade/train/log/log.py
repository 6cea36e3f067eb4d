# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Log of a run: JSON lines for programs, events for TensorBoard, a display for people, and the user's own sinks.

A metric that is not finite is the string "NaN", "Infinity" or "-Infinity" in the file, because JSON has no
such numbers; `read` gives it back as a float. Finite floats are written so that they read back bit for bit.

The files of JSON lines are the run's own record, which must not have gaps: a run that cannot write them ends. All else
is for convenience, and a run goes on without it.
"""

import json
import logging
import math
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from rich.console import Console

from saccade.paths import RECORD_BYTES, read_regular
from saccade.train.log.background import Background, close_all
from saccade.train.log.display import Display
from saccade.train.workdir import Workdir, open_own, write_atomically, writing
from saccade.types import Metrics, Sink, UserError

_NOT_FINITE = {'NaN': math.nan, 'Infinity': math.inf, '-Infinity': -math.inf}
_TEXT = ('split', 'text')
_IN_BAR = ('loss', 'tokens_per_second', 'mfu')
_SHOWN = 60  # characters of a wrong value
_log = logging.getLogger(__name__)
_WORDS = {'tokens_per_second': 'tokens/s {:,.0f}', 'mfu': 'MFU {:.1%}'}


class RunConsole(Console):
    """Console of a run on standard output; the run goes on without it when nobody reads it or its disk is full.

    It is that of when the console is made: preparing a dataset hides what TFDS prints by another `sys.stdout`.
    """

    def __init__(self, file: Any = None, **options: Any) -> None:
        super().__init__(file=file or sys.stdout, **options)

    def print(self, *objects: Any, **options: Any) -> None:
        """Print objects; from the first write that fails on, print nothing and warn once."""
        try:
            super().print(*objects, **options)
        except OSError as error:
            self._lose(str(error))

    def on_broken_pipe(self) -> None:
        """Print nothing from now on, and warn: nobody reads the output."""
        self._lose('nobody reads it')

    def _lose(self, why: str) -> None:
        self.quiet = True
        _log.warning('nothing more is printed, and the run goes on: standard output cannot be written to: %s', why)
        if self.file is sys.__stdout__:  # else Python complains at its end of what it could not write
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())


class Log:
    """Log of a run. Only process 0 writes and prints.

    What was logged after the restored step is forgotten, for those steps will be run again. So log a step
    before it is saved: then a run that is killed in between has every step once.
    """

    def __init__(
        self,
        workdir: Path,
        steps: int,
        *,
        start: int = 0,
        lines: int = 0,
        display: Display | None = None,
        config: Mapping[str, Any] | None = None,
        sinks: Sequence[Sink] = (),
    ) -> None:
        """Open the log.

        Args:
            workdir: the run's folder.
            steps: how many the run is to take in all.
            start: the step that was restored; 0 starts the log anew.
            lines: how many metrics.jsonl had when that step was saved. If some are gone, that is said.
            display: where people look; standard output by default.
            config: the run's, resolved, for the sinks that keep it.
            sinks: where the log goes beside the folder and the display.

        Raises:
            UserError: the log that is there is damaged, or the disk is full.
        """
        from saccade.train.log.tensorboard import TensorBoard

        self._files: _Files | None = None
        self._others: list[Background] = []
        if jax.process_index() != 0:
            return
        self._files = _Files(Path(workdir), start)
        if self._files.lines < lines:
            _log.warning(
                '%s: lines up to step %d are gone: %d are left of %d; training goes on',
                *(Workdir(Path(workdir)).metrics, start, self._files.lines, lines),
            )
        self._others = [Background(sink) for sink in (TensorBoard(), *sinks)]
        for other in self._others:
            other.open(Path(workdir), config or {}, start)
        self._people = _People(display or Display(RunConsole()), steps, start)

    @property
    def lines(self) -> int:
        """How many lines metrics.jsonl has; 0 on other processes than process 0."""
        return self._files.lines if self._files else 0

    def step(self, step: int) -> None:
        """Show that a step has been taken."""
        if self._files:
            self._people.step(step)

    def plan(self, metrics: Mapping[str, Any]) -> None:
        """Keep what the run is going to cost, as step 0 of the split 'plan'; people have seen it already.

        Raises:
            UserError: the disk is full, or a metric is no number.
        """
        self._keep(0, 'plan', _numbers('plan', metrics))

    def write(self, step: int, split: str, metrics: Mapping[str, Any]) -> None:
        """Log the metrics of one step of one split; `tokens_per_second` and `mfu` (of 1) are shown as such.

        Raises:
            UserError: the disk is full, or a metric is no number or is called 'step' or 'split'.
        """
        numbers = _numbers(split, metrics)
        self._keep(step, split, numbers)
        if self._files:
            self._people.write(step, split, numbers)

    def sample(self, step: int, text: str) -> None:
        """Show and keep what the model made at one step.

        Raises:
            UserError: the disk is full.
        """
        if self._files:
            self._files.sample(step, text)
            self._people.sample(step, text)
        for other in self._others:
            other.sample(step, text)

    def _keep(self, step: int, split: str, metrics: Metrics) -> None:
        if self._files:
            self._files.write(step, split, metrics)
        for other in self._others:
            other.write(step, split, metrics)

    def close(self) -> None:
        """Finish the display, the files and then the other sinks, which have a limited time for it."""
        if self._files:
            self._people.close()
            self._files.close()
        close_all(self._others, failed=sys.exc_info()[0] is not None)

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
    """The two files of JSON lines. `lines` counts those of metrics.jsonl."""

    def __init__(self, folder: Path, start: int) -> None:
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._metrics, self.lines = _reopen(Workdir(folder).metrics, start)
        self._samples, _ = _reopen(Workdir(folder).samples, start)

    def write(self, step: int, split: str, metrics: Metrics) -> None:
        values = {name: _json_number(value) for name, value in metrics.items()}
        self._append(self._metrics, {'step': step, 'split': split, **values})
        self.lines += 1

    def sample(self, step: int, text: str) -> None:
        self._append(self._samples, {'step': step, 'text': text})

    def close(self) -> None:
        self._metrics.close()
        self._samples.close()

    def _append(self, file: Any, record: Mapping[str, Any]) -> None:
        line = json.dumps(record, allow_nan=False).encode() + b'\n'
        with writing(self._folder):
            while line:  # a disk that fills takes the beginning of a line, and only then complains
                line = line[file.write(line) :]


class _People:
    """What people see of the log: the line of training, which moves where it can, and printed lines."""

    def __init__(self, display: Display, steps: int, start: int) -> None:
        self._display, self._steps = display, steps
        self._training = display.begin('training', steps, done=start)

    def step(self, step: int) -> None:
        self._training.tell(step)

    def write(self, step: int, split: str, metrics: Metrics) -> None:
        shown = {name: metrics[name] for name in _IN_BAR if name in metrics}
        if split == 'train' and self._display.moves:
            self._training.words([_words(dict(list(shown.items())[:count])) for count in range(len(shown), 0, -1)])
        else:
            self._display.say(f'step {step}/{self._steps}  {split}  {_words(metrics)}')

    def sample(self, step: int, text: str) -> None:
        self._display.say(f'sample at step {step}:\n{text}')

    def close(self) -> None:
        self._training.end()


def _reopen(path: Path, start: int) -> tuple[Any, int]:
    """Open a file of records for appending, without those after `start`; return it, and how many it has."""
    kept = [line for line, record in _records(path) if start and record['step'] <= start]
    with writing(path.parent):
        if path.exists():
            write_atomically(path, b''.join(line + b'\n' for line in kept))
        return open_own(path, 'ab', buffering=0), len(kept)  # unbuffered: a line is in the file, or the call has failed


def _records(path: Path) -> Iterator[tuple[bytes, dict[str, Any]]]:
    try:
        lines = read_regular(path, RECORD_BYTES).splitlines() if path.exists() else []
    except OSError as error:
        raise UserError(f'{path}: cannot be read: {error.strerror}') from error
    for number, line in enumerate(lines, start=1):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            if number == len(lines) and isinstance(error, ValueError):
                return
            complaint: str | None = str(error)
        else:
            complaint = _complaint(record)
        if complaint:
            raise UserError(f'{path}: line {number} is damaged: {complaint}; mend or remove the file')
        yield line, record


def _complaint(record: Any) -> str | None:
    """Say why a value is no record; None where it is one."""
    if not isinstance(record, dict) or type(record.get('step')) is not int or not _is_number(record['step']):
        return "it has no 'step'"
    if not any(isinstance(record.get(name), str) for name in _TEXT):
        return "it has neither a 'split' nor a 'text'"
    for name, value in record.items():
        if name in _TEXT and not isinstance(value, str):
            return f'{name} is {_short(value)}, which is no text'
        if name not in _TEXT and not _is_number(value) and value not in tuple(_NOT_FINITE):
            return f'{name} is {_short(value)}, which is no number'
    return None


def _numbers(split: str, metrics: Mapping[str, Any]) -> dict[str, float | int]:
    """Return metrics as Python numbers.

    Raises:
        UserError: one is no number or is called 'step' or 'split'.
    """
    if metrics.keys() & {'step', 'split'}:
        raise UserError(f"{split}: a metric may not be called 'step' or 'split'")
    for name, value in metrics.items():
        if not _is_number(value):
            raise UserError(f'{split}: the metric {name} is {_short(value)}, which is no number')
    return {name: value if isinstance(value, int) else float(value) for name, value in metrics.items()}


def _is_number(value: Any) -> bool:
    """Whether a float can hold a value; a text or an array with axes is no number."""
    try:
        return hasattr(value, '__float__') and np.shape(value) == () and float(value) is not None
    except (OverflowError, TypeError, ValueError):
        return False


def _short(value: Any) -> str:
    text = ' '.join(json.dumps(value, default=repr).split())
    return text if len(text) <= _SHOWN else f'{text[:_SHOWN]}...'


def _json_number(value: float | int) -> float | int | str:
    if math.isfinite(value):
        return value
    return 'NaN' if math.isnan(value) else 'Infinity' if value > 0 else '-Infinity'


def _words(metrics: Metrics) -> str:
    return '  '.join(
        _WORDS[name].format(value) if name in _WORDS else f'{name} {value:z.5g}' for name, value in metrics.items()
    )
