# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Runs of a folder: a sweep's folder, or any folder whose subfolders are runs."""

import json
import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from saccade.analysis.report.fields import differing
from saccade.analysis.report.words import counted
from saccade.sweep.record import PrimaryComparison, Sweep, SweepRun, read_sweep
from saccade.train.log import provenance
from saccade.train.log.declarations import Declarations, read_declarations
from saccade.train.log.log import OUTCOME, PART, read, solved_step
from saccade.train.workdir import Workdir, absolute
from saccade.types import UserError

PLAN = 'plan'  # split of the record with the costs of a run
BASELINE = 'baseline'  # split of the record with the baseline's metrics

_TEXT = ('split', 'text')
_COSTS = ('parameters', 'flops', 'tokens')

Record = Mapping[str, Any]


class NothingLoggedError(UserError):
    """Error for a study without a logged metric or without the split of a report; its runs may not have begun."""


@dataclass(frozen=True)
class Trial:
    """Run of a study with its current state.

    Attributes:
        name: name of its folder below the study's folder.
        variant: name of the variant, shared by runs that differ only by their seed.
        config: the stored config; empty before the run starts.
        records: records of metrics.jsonl, in order.
        steps: planned number of steps.
        exit, last_lines: exit status and last output lines of a failed process.
        declared: declared metrics; empty for a run that has not started.
        starts: provenance of each start, from provenance.jsonl, oldest first; empty without a record.
    """

    name: str
    variant: str
    seed: int
    folder: Path
    steps: int
    config: Mapping[str, Any] = field(repr=False)
    records: tuple[Record, ...] = field(repr=False)
    failed: bool = False
    exit: int | None = None
    last_lines: tuple[str, ...] = ()
    declared: Declarations = Declarations()  # noqa: RUF009, it is frozen
    starts: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)

    @property
    def step(self) -> int:
        """Last logged step."""
        return max((record['step'] for record in self.records), default=0)

    @cached_property
    def solved(self) -> bool | None:
        """True if the run has solved its task, False if it has not within its steps; None without `stop_at`."""
        outcomes = self.of(OUTCOME)
        return bool(outcomes[-1].get('solved')) if outcomes else None

    @cached_property
    def end(self) -> int:
        """Last step of the run: at which it solved its task, or else the planned one."""
        return solved_step(self.records) or self.steps

    @cached_property
    def plan(self) -> Record | None:
        """Record with the parameters, and FLOPs and tokens of a step; None if the run did not log it."""
        plans = self.of(PLAN)
        return plans[-1] if plans and all(name in plans[-1] for name in _COSTS) else None

    def of(self, split: str) -> list[Record]:
        """Return the records of a split, in order."""
        return [record for record in self.records if record.get('split') == split]

    def course(self, split: str) -> list[Record]:
        """Return the records of a split, all of the same rows: of its part if the run evaluated a part of it."""
        return self.of(f'{split}{PART}') or self.of(split)

    def by_step(self, split: str, metric: str) -> dict[int, float]:
        """Return the finite values of a metric in a split's course; the last one of a step that was logged twice."""
        found = {record['step']: float(record[metric]) for record in self.course(split) if metric in record}
        return {step: value for step, value in found.items() if math.isfinite(value)}

    def final(self, split: str) -> Record | None:
        """Return the record of a split at the end of the run; None if the run has not finished."""
        records = self.of(split)
        return records[-1] if records and records[-1]['step'] >= self.end else None

    def state(self, split: str) -> str:
        """Return 'finished', 'failed', 'unfinished' or 'not started'."""
        if self.final(split):
            return 'finished'
        if self.failed:
            return 'failed'
        return 'unfinished' if self.config else 'not started'

    def last_sample(self) -> str | None:
        """Return the last generated sample.

        Raises:
            UserError: samples.jsonl is damaged.
        """
        samples = read(Workdir(self.folder).samples)
        return str(samples[-1].get('text', '')) if samples else None


@dataclass(frozen=True)
class Study:
    """Study: a folder of runs.

    Attributes: folder; title; trials, in the sweep's order or by name; base, the base config of a sweep; left_out,
    names of runs in a sweep's folder that are not part of the sweep; factors, of the sweep; primary, its primary
    comparison.
    """

    folder: Path
    title: str
    trials: tuple[Trial, ...]
    base: Mapping[str, Any] = field(repr=False)
    source: str = ''
    left_out: tuple[str, ...] = ()
    factors: tuple[str, ...] = ()
    primary: PrimaryComparison = PrimaryComparison()  # noqa: RUF009, it is frozen


def read_study(workdir: str | Path) -> Study:
    """Read every run of a folder.

    Raises:
        UserError: the folder does not exist, has no runs or no metrics; or a file is damaged.
    """
    folder = absolute(workdir)
    if not folder.is_dir():
        flag = shlex.quote(f'--workdir={workdir}')
        raise UserError(f'{workdir}: no such folder; run a sweep with launch/sweep.py {flag}')
    sweep = read_sweep(folder)
    if sweep is None and (folder / 'config.json').exists():
        flag = shlex.quote(f'--workdir={Path(workdir).parent}')
        raise UserError(f'{workdir}: this is one run, and a report compares runs: give the folder above it, {flag}')
    study = _of_folders(folder) if sweep is None else _of_sweep(folder, sweep)
    if not any(trial.records for trial in study.trials):
        raise NothingLoggedError(
            f'{study.trials[0].folder}: neither this run nor any other of {workdir} has metrics: train them first; '
            f'a run writes metrics.jsonl during training'
        )
    return study


def _of_sweep(folder: Path, sweep: Sweep) -> Study:
    if not sweep.runs:
        raise UserError(f'{folder}: its sweep.json names no runs; start the sweep again with launch/sweep.py')
    trials = tuple(_of_run(folder / run.name, run) for run in sweep.runs)
    own = {run.name for run in sweep.runs}
    others = tuple(name for name in runs_in(folder) if name not in own)
    return Study(
        folder,
        sweep.title or folder.name,
        trials,
        sweep.base,
        sweep.sweep,
        others,
        factors=sweep.factors,
        primary=sweep.primary,
    )


def runs_in(folder: Path) -> list[str]:
    """Return the names of the runs directly below a folder."""
    return sorted(file.parent.name for file in folder.glob('[!.]*/config.json'))


def left_out_words(names: Sequence[str]) -> str:
    """Return a sentence with the runs that a report of sweeps leaves out; empty without such runs."""
    return f'Left out: {counted(len(names), "run")} of no sweep here: {", ".join(names)}.' if names else ''


def _of_run(folder: Path, run: SweepRun) -> Trial:
    config = _config(folder)
    return Trial(
        run.name,
        run.variant,
        run.seed,
        folder,
        steps=config.get('steps', run.steps),
        config=config,
        records=_records(folder),
        failed=run.status == 'failed',
        exit=run.exit,
        last_lines=run.last_lines,
        declared=_declared(folder),
        starts=_starts(folder),
    )


def _of_folders(folder: Path) -> Study:
    runs = [folder / name for name in runs_in(folder)]
    if not runs:
        raise UserError(
            f'{folder}: contains no runs: neither a sweep.json nor folders with a config.json; '
            f'create runs with launch/sweep.py or launch/train.py'
        )
    configs = [_config(run) for run in runs]
    variants = _named([{key: value for key, value in config.items() if key != 'seed'} for config in configs])
    trials = tuple(
        Trial(
            run.name,
            variant,
            config['seed'],
            run,
            config['steps'],
            config,
            _records(run),
            declared=_declared(run),
            starts=_starts(run),
        )
        for run, variant, config in zip(runs, variants, configs, strict=True)
    )
    return Study(folder, folder.name, trials, base={})


def _named(configs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Name each config by the fields in which it differs from others."""
    fields = differing(configs)
    return [
        ','.join(f'{name}={texts[place]}' for name, texts in fields.items()) or 'all runs'
        for place in range(len(configs))
    ]


def _config(folder: Path) -> Mapping[str, Any]:
    workdir = Workdir(folder)
    if not workdir.config.exists():
        return {}
    config = workdir.read_config()
    for name in ('seed', 'steps'):
        if not isinstance(config[name], int):
            raise UserError(f'{workdir.config}: {name} is {config[name]!r}, and must be a whole number')
    return config


def _declared(folder: Path) -> Declarations:
    return read_declarations(Workdir(folder).declarations)


def _starts(folder: Path) -> tuple[Mapping[str, Any], ...]:
    return tuple(provenance.read(Workdir(folder).provenance))


def _records(folder: Path) -> tuple[Record, ...]:
    file = Workdir(folder).metrics
    records = read(file) if file.is_file() else []
    for record in records:
        for name, value in record.items():
            if name not in _TEXT and not isinstance(value, int | float):
                where = f'step {record["step"]}: {name} is {json.dumps(value)}'
                raise UserError(f'{file}: {where}, which is not a number; repair or remove the file')
    return tuple(records)
