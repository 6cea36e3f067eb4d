# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Record of a sweep: `sweep.json` in its folder, next to the folders of the runs, which have the runs' names."""

import json
import reprlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path, PurePath
from typing import Any, Literal, get_args

from saccade.paths import read_text
from saccade.train.workdir import write_atomically
from saccade.types import UserError

Status = Literal['waiting', 'running', 'finished', 'failed']


@dataclass(frozen=True)
class SweepRun:
    """Run of a sweep.

    Attributes:
        name: variant and seed, as in 'heads=4,seed=0'; also the run's subfolder.
        variant: common name of runs that differ only in their seed.
        overrides: overrides of the base config, as on the command line, without those that hold for all runs.
        steps: total number of steps.
        status: 'waiting' for runs that have not begun or were interrupted.
        exit: exit status of its last process; negative for the number of a signal.
        last_lines: last lines of a failed run's output.
        seconds: duration of its last process, from start to end; None if not measured.
    """

    name: str
    variant: str
    seed: int
    overrides: tuple[str, ...]
    steps: int
    status: Status = 'waiting'
    exit: int | None = None
    last_lines: tuple[str, ...] = ()
    seconds: float | None = field(default=None, compare=False)


@dataclass(frozen=True)
class PrimaryComparison:
    """Primary comparison of a sweep, declared before its runs.

    Attributes:
        metric: metric of the ranking; None for the report's default.
        baseline: variant that the others are compared with.
        margin: smallest loss against the baseline that matters, in the metric's unit.
    """

    metric: str | None = None
    baseline: str | None = None
    margin: float | None = None


@dataclass(frozen=True)
class Sweep:
    """Sweep and its progress.

    Attributes:
        config, sweep: source files.
        title: first line of the sweep file's docstring.
        base: resolved base config.
        runs: runs in starting order.
        overrides: overrides of the config file, as on the command line, for all runs; included in the base.
        factors: names of its factors; the name of a variant is its level of each, separated by commas.
        primary: its primary comparison.
    """

    config: str
    sweep: str
    title: str
    base: Mapping[str, Any] = field(repr=False)
    runs: tuple[SweepRun, ...]
    overrides: tuple[str, ...] = ()
    factors: tuple[str, ...] = ()
    primary: PrimaryComparison = PrimaryComparison()

    def changed(self, name: str, **changes: Any) -> 'Sweep':
        """Return the sweep with one run's fields changed."""
        runs = tuple(replace(run, **changes) if run.name == name else run for run in self.runs)
        return replace(self, runs=runs)


def sweep_file(folder: Path) -> Path:
    """Return the path of the sweep's record, `sweep.json`."""
    return folder / 'sweep.json'


def write_sweep(folder: Path, sweep: Sweep) -> None:
    """Write sweep.json atomically.

    Raises:
        UserError: the disk is full or cannot be written to.
    """
    write_atomically(sweep_file(folder), as_json(sweep))


def as_json(sweep: Sweep) -> str:
    """Return the content of a sweep's record."""
    return json.dumps(asdict(sweep), indent=1) + '\n'


def read_sweep(folder: Path) -> Sweep | None:
    """Return the sweep of a folder; None if there is no sweep.json.

    Raises:
        UserError: sweep.json is damaged, or a run's name is a path out of the folder.
    """
    file = sweep_file(folder)
    if not file.exists():
        return None
    try:
        stored = json.loads(read_text(file))
        _require_shallow(stored)
        stored = {'factors': [], 'primary': {}, **stored}  # absent from older records
        _require(stored, _SWEEP_FIELDS, 'the sweep')
        for number, run in enumerate(stored['runs']):
            _require(run, _RUN_FIELDS, f'runs[{number}]')
        if len({run['name'] for run in stored['runs']}) < len(stored['runs']):
            raise ValueError('two runs have one name')
        runs = [{**run, 'overrides': tuple(run['overrides'])} for run in stored['runs']]
        runs = tuple(SweepRun(**{**run, 'last_lines': tuple(run['last_lines'])}) for run in runs)
        primary = stored['primary']
        _require(primary, {name: check for name, check in _PRIMARY_FIELDS.items() if name in primary}, 'primary')
        lines = {name: tuple(stored[name]) for name in ('overrides', 'factors')}
        changed = {'runs': runs, 'primary': PrimaryComparison(**primary), **lines}
        return Sweep(**{**stored, **changed})
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise UserError(f'{file}: not the record of a sweep: {error!r}; repair or remove it') from error


def _require(record: Any, fields: Mapping[str, Callable[[Any], bool]], where: str) -> None:
    """Check each field of a record with its predicate in `fields`."""
    if not isinstance(record, dict):
        raise ValueError(f'{where} is {reprlib.repr(record)}')
    for name, right in fields.items():
        if not right(record[name]):
            raise ValueError(f'{name} of {where} is {reprlib.repr(record[name])}')


def _require_shallow(value: Any) -> None:
    """Check that a record is not nested deeper than any config, since a recursive walk would exhaust the stack."""
    level = [value]
    for _ in range(_DEEPEST):
        nested = [each.values() if isinstance(each, dict) else each for each in level if isinstance(each, dict | list)]
        level = [value for values in nested for value in values]
    if level:
        raise ValueError(f'it is nested deeper than {_DEEPEST} levels')


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_lines(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_folder(value: Any) -> bool:
    """True if a value is the name of a direct subfolder."""
    return _is_text(value) and value not in ('', '..') and PurePath(value).name == value and '\0' not in value


_DEEPEST = 100
_RUN_FIELDS = {
    'name': _is_folder,
    'variant': _is_text,
    'seed': _is_whole,
    'overrides': _is_lines,
    'steps': _is_whole,
    'status': get_args(Status).__contains__,
    'exit': lambda value: value is None or _is_whole(value),
    'last_lines': _is_lines,
    'seconds': lambda value: value is None or (isinstance(value, int | float) and value >= 0),
}
_PRIMARY_FIELDS = {
    'metric': lambda value: value is None or _is_text(value),
    'baseline': lambda value: value is None or _is_text(value),
    'margin': lambda value: value is None or (isinstance(value, int | float) and value > 0),
}
_SWEEP_FIELDS = {
    'config': _is_text,
    'sweep': _is_text,
    'title': _is_text,
    'base': lambda value: isinstance(value, dict),
    'runs': lambda value: isinstance(value, list),
    'factors': _is_lines,
    'overrides': _is_lines,
}
