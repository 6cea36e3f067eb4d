# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What stands in a sweep's folder: `sweep.json`, and the folder of each run under the run's name."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from saccade.train.workdir import write_atomically
from saccade.types import UserError

Status = Literal['waiting', 'running', 'finished', 'failed']


@dataclass(frozen=True)
class Run:
    """One run of a sweep.

    Attributes:
        name: the variant and the seed, as in 'heads=4,seed=0'; the run's folder below the sweep's.
        variant: what the runs that differ by their seed alone share.
        overrides: of the base config, as on the command line, beside those that hold for all runs.
        steps: that it takes in all.
        status: 'waiting' for what has not begun and for what an interruption cut short.
        exit: status of the process that ended last; negative for the number of a signal.
        last_lines: what a failed run printed last.
    """

    name: str
    variant: str
    seed: int
    overrides: tuple[str, ...]
    steps: int
    status: Status = 'waiting'
    exit: int | None = None
    last_lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sweep:
    """A sweep and how far it has come.

    Attributes:
        config, sweep: the files it was made from.
        title: first line of the sweep file's docstring.
        base: the resolved config that the runs depart from.
        runs: in the order in which they start.
        overrides: of the config file, as on the command line; they hold for all runs and are part of the base.
    """

    config: str
    sweep: str
    title: str
    base: Mapping[str, Any] = field(repr=False)
    runs: tuple[Run, ...]
    overrides: tuple[str, ...] = ()

    def changed(self, name: str, **changes: Any) -> 'Sweep':
        """Return the sweep with one run's fields changed."""
        runs = tuple(replace(run, **changes) if run.name == name else run for run in self.runs)
        return replace(self, runs=runs)


def sweep_file(folder: Path) -> Path:
    return folder / 'sweep.json'


def write_sweep(folder: Path, sweep: Sweep) -> None:
    """Put sweep.json in place whole.

    Raises:
        UserError: the disk is full or cannot be written to.
    """
    write_atomically(sweep_file(folder), json.dumps(asdict(sweep), indent=1) + '\n')


def read_sweep(folder: Path) -> Sweep | None:
    """Return the sweep of a folder; None where there is no sweep.json.

    Raises:
        UserError: sweep.json is damaged.
    """
    file = sweep_file(folder)
    if not file.exists():
        return None
    try:
        stored = json.loads(file.read_text(encoding='utf-8'))
        runs = [{**run, 'overrides': tuple(run['overrides'])} for run in stored['runs']]
        runs = tuple(Run(**{**run, 'last_lines': tuple(run['last_lines'])}) for run in runs)
        return Sweep(**{**stored, 'runs': runs, 'overrides': tuple(stored['overrides'])})
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise UserError(f'{file}: not the record of a sweep: {error!r}; mend or remove it') from error
