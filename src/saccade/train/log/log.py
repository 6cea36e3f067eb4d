# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Log of a run: JSON lines for programs, events for TensorBoard, a display for users, and the user's own sinks.

A metric that is not finite is the string "NaN", "Infinity" or "-Infinity" in the file, because JSON has no
such numbers; `read` gives it back as a float. Finite floats are written so that they read back bit for bit.

The files of JSON lines are the run's own record, which must be complete: a run that cannot write them ends. All else is
for convenience, and the run continues without it.
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

OUTCOME = 'outcome'  # split of the record of whether a run has solved its task
PART = '_part'  # ending of a split's name if only its first batches were evaluated

_NOT_EVALUATED = ('train', 'plan', OUTCOME)  # splits whose records do not show the end of a run
_NOT_FINITE = {'NaN': math.nan, 'Infinity': math.inf, '-Infinity': -math.inf}
_TEXT = ('split', 'text')
_IN_BAR = ('loss', 'tokens_per_second', 'mfu')
_SHOWN = 60  # characters of a wrong value
_log = logging.getLogger(__name__)
_WORDS = {'tokens_per_second': 'tokens/s {:,.0f}', 'mfu': 'MFU {:.1%}'}


class RunConsole(Console):
    """Console of a run on standard output; the run continues without it if its reader ends or its disk is full.

    It writes to `sys.stdout` as of its construction: the preparation of a dataset hides the output of TFDS by another.
    """

    def __init__(self, file: Any = None, **options: Any) -> None:
        super().__init__(file=file or sys.stdout, **options)

    def print(self, *objects: Any, **options: Any) -> None:
        """Print objects; after the first failed write, print nothing and warn once."""
        try:
            super().print(*objects, **options)
        except OSError as error:
            self._lose(str(error))

    def on_broken_pipe(self) -> None:
        """Print nothing from now on, and warn: the reader has ended."""
        self._lose('its reader has ended')

    def _lose(self, why: str) -> None:
        self.quiet = True
        _log.warning('nothing more is printed, and the run continues: standard output cannot be written to: %s', why)
        if self.file is sys.__stdout__:  # else Python reports unwritten output at its end
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())


class Log:
    """Log of a run. Only process 0 writes and prints.

    Records after the restored step are dropped, since those steps will be run again. So log a step before it is saved:
    then a run that is killed in between has every step once.
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
            steps: total number of steps of the run.
            start: the restored step; 0 starts a new log.
            lines: number of lines of metrics.jsonl when that step was saved. If some are missing, a warning is logged.
            display: for users; standard output by default.
            config: resolved config of the run, for the sinks that store it.
            sinks: of the log, besides the folder and the display.

        Raises:
            UserError: the log that is there is damaged, or the disk is full.
        """
        from saccade.train.log.live_page import LivePage
        from saccade.train.log.tensorboard import TensorBoard

        self._files: _Files | None = None
        self._others: list[Background] = []
        if jax.process_index() != 0:
            return
        self._files = _Files(Path(workdir), start)
        if self._files.lines < lines:
            _log.warning(
                '%s: lines up to step %d are missing: %d of %d are left; training continues',
                *(Workdir(Path(workdir)).metrics, start, self._files.lines, lines),
            )
        self._others = [Background(sink) for sink in (TensorBoard(), LivePage(steps), *sinks)]
        for other in self._others:
            other.open(Path(workdir), config or {}, start)
        self._people = _People(display or Display(RunConsole()), steps, start)

    @property
    def lines(self) -> int:
        """Number of lines of metrics.jsonl; 0 on other processes than process 0."""
        return self._files.lines if self._files else 0

    def step(self, step: int) -> None:
        """Show that a step has been taken."""
        if self._files:
            self._people.step(step)

    def plan(self, metrics: Mapping[str, Any]) -> None:
        """Log the cost of the run as step 0 of the split 'plan'; the display has shown it already.

        Raises:
            UserError: the disk is full, or a metric is not a number.
        """
        self._keep(0, 'plan', _numbers('plan', metrics))

    def write(self, step: int, split: str, metrics: Mapping[str, Any]) -> None:
        """Log the metrics of one step of one split; `tokens_per_second` and `mfu` (of 1) are shown as such.

        Raises:
            UserError: the disk is full, or a metric is not a number or is named 'step' or 'split'.
        """
        numbers = _numbers(split, metrics)
        self._keep(step, split, numbers)
        if self._files:
            self._people.write(step, split, numbers)

    def sample(self, step: int, text: str) -> None:
        """Show and log the model's output at one step.

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
        """Close the display, the files and then the other sinks, whose time is limited."""
        if self._files:
            self._people.close()
            self._files.close()
        close_all(self._others, failed=sys.exc_info()[0] is not None)

    def __enter__(self) -> 'Log':
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()


def read(path: Path) -> list[dict[str, Any]]:
    """Return the records of metrics.jsonl or samples.jsonl, without a last line that a kill has truncated.

    Raises:
        UserError: another line is not a record.
    """
    return [
        {key: value if key in _TEXT else _NOT_FINITE.get(value, value) for key, value in record.items()}
        for _, record in _records(path)
    ]


def solved_step(records: Sequence[Mapping[str, Any]]) -> int | None:
    """Return the step at which a run has solved its task and ended; None if it has not."""
    solved = (record['step'] for record in records if record.get('split') == OUTCOME and record.get('solved'))
    return max(solved, default=None)


def is_finished(records: Sequence[Mapping[str, Any]], steps: int) -> bool:
    """Return True if a run was evaluated after its last step, or after the step at which it solved its task."""
    end = solved_step(records) or steps
    splits = (record.get('split') or '' for record in records if record['step'] >= end)
    return any(split not in _NOT_EVALUATED and not split.endswith(PART) for split in splits)


class _Files:
    """The two files of JSON lines. `lines` is the number of lines of metrics.jsonl."""

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
            while line:  # on a disk that fills up, a first part of the line is written before the error
                line = line[file.write(line) :]


class _People:
    """Log for users: the line of training, which moves on a terminal, and printed lines."""

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
    """Open a file of records for appending, without those after `start`; return it, and the number of records."""
    kept = [line for line, record in _records(path) if start and record['step'] <= start]
    with writing(path.parent):
        if path.exists():
            write_atomically(path, b''.join(line + b'\n' for line in kept))
        return open_own(path, 'ab', buffering=0), len(kept)  # unbuffered: a line is in the file after the call


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
            raise UserError(f'{path}: line {number} is damaged: {complaint}; repair or remove the file')
        yield line, record


def _complaint(record: Any) -> str | None:
    """Return the reason why a value is not a record; None if it is one."""
    if not isinstance(record, dict) or type(record.get('step')) is not int or not _is_number(record['step']):
        return "it has no 'step'"
    if not any(isinstance(record.get(name), str) for name in _TEXT):
        return "it has neither a 'split' nor a 'text'"
    for name, value in record.items():
        if name in _TEXT and not isinstance(value, str):
            return f'{name} is {_short(value)}, not a text'
        if name not in _TEXT and not _is_number(value) and value not in tuple(_NOT_FINITE):
            return f'{name} is {_short(value)}, not a number'
    return None


def _numbers(split: str, metrics: Mapping[str, Any]) -> dict[str, float | int]:
    """Return metrics as Python numbers.

    Raises:
        UserError: a metric is not a number or is named 'step' or 'split'.
    """
    if metrics.keys() & {'step', 'split'}:
        raise UserError(f"{split}: a metric may not be named 'step' or 'split'")
    for name, value in metrics.items():
        if not _is_number(value):
            raise UserError(f'{split}: the metric {name} is {_short(value)}, not a number')
    return {name: value if isinstance(value, int) else float(value) for name, value in metrics.items()}


def _is_number(value: Any) -> bool:
    """Return True if a float can hold a value; a text or an array with axes is not a number."""
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
