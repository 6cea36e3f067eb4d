# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Run a sweep, many runs from one config: the same command continues it.

If the sweep tunes its variants, the hyper-parameter search comes first, in the subfolder `tuning`. With
--budget=MINUTES a short run of each variant is timed first, in the subfolder `sizing`, to choose a size that fits.

python launch/sweep.py --config=experiments/causal_lm/quickstart.py --sweep=experiments/sweeps/heads.py \
    --workdir=runs/heads --jobs=2
"""

import atexit
import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from absl import flags

from saccade.train.process.given import refuse_given
from saccade.train.process.main import run_main
from saccade.train.process.output import require_folder
from saccade.types import UserError

if TYPE_CHECKING:
    from rich.console import Console

    from saccade.sweep.folder import SweepFolder
    from saccade.sweep.plan import SweepPlan
    from saccade.sweep.record import Sweep

CONFIG = flags.DEFINE_string('config', None, 'Experiment file; --config.FIELD=VALUE applies to every run.')
SWEEP = flags.DEFINE_string('sweep', None, 'File with get_sweep(); the shipped sweeps are in experiments/sweeps/.')
WORKDIR = flags.DEFINE_string('workdir', None, "The sweep's folder; each run has a subfolder.")
JOBS = flags.DEFINE_integer(
    'jobs', None, 'Runs at a time, each on a GPU or an equal share of the cores; by default what the machine can do.'
)
ENGINE = flags.DEFINE_enum('engine', 'local', ['local', 'slurm'], 'Where runs are carried out: here, or on a cluster.')
SLURM = flags.DEFINE_multi_string('slurm', [], 'KEY=VALUE, options of sbatch: time in minutes, partition, ...')
WANDB = flags.DEFINE_string('wandb', None, 'Also log every run to this project of Weights & Biases.')
FORCE = flags.DEFINE_bool('force', False, 'Train even if a step needs far more memory than a device has.')
DRY_RUN = flags.DEFINE_bool('dry_run', False, 'Print the runs and their cost, and start nothing.')
BUDGET = flags.DEFINE_float(
    'budget', None, "Minutes; chooses the largest of the sweep's sizes that is predicted to fit.", 0.0
)
SIZE = flags.DEFINE_string('size', None, 'Size, from the list of the sweep.')
JSON = flags.DEFINE_bool('json', False, 'Print only one JSON object, with the sweep and the status of each run.')


def main(overrides: list[str]) -> None:
    """Run the sweep, and exit with an error status if a run has not finished.

    Raises:
        UserError: --config, --sweep or --workdir is missing, a flag has no effect, or a variant is invalid.
    """
    import jax
    from rich.console import Console
    from saccade.launch._sweeps import TRAIN, Launch

    from saccade.sweep.board import summary
    from saccade.sweep.folder import SweepFolder
    from saccade.sweep.plan import SweepPlan, read_sweep_file
    from saccade.sweep.sizes import sizes_of
    from saccade.train.config import load_config
    from saccade.train.log.wandb import logging_to
    from saccade.train.process.terminal import say

    if not (CONFIG.value and SWEEP.value and WORKDIR.value):
        raise UserError('give --config=FILE, --sweep=FILE and --workdir=FOLDER; the shipped files are in experiments/')
    if ENGINE.value == 'local':
        refuse_given('without --engine=slurm', SLURM)
    require_folder('workdir', WORKDIR.value)
    if WANDB.value is not None:
        overrides = [*overrides, logging_to(WANDB.value, load_config(CONFIG.value, overrides))]
    jax.config.update('jax_platforms', 'cpu')  # for this process, which only plans; runs choose their own
    console, folder = Console(quiet=JSON.value, highlight=False), SweepFolder.of(WORKDIR.value)
    engine, jobs, machine = {'local': _local, 'slurm': _slurm}[ENGINE.value](console, folder)
    launch = Launch(console, engine, (*TRAIN, '--force') if FORCE.value else TRAIN, DRY_RUN.value)
    if BUDGET.value is not None and SIZE.value is not None:
        raise UserError('give --budget or --size, not both: a budget chooses a size')
    if BUDGET.value is None:
        plan = SweepPlan.of(CONFIG.value, SWEEP.value, overrides, SIZE.value)
    elif jobs is None:
        raise UserError('--budget: give --jobs, the number of runs at a time on the cluster')
    else:
        sizes = [size.name for size in sizes_of(read_sweep_file(SWEEP.value)[1])]
        planned = partial(SweepPlan.of, CONFIG.value, SWEEP.value, overrides, costs={})
        plan = launch.fitting(folder, planned, sizes, jobs, BUDGET.value)
        if plan is None:
            sys.exit(1)
    sweep = _next(folder, plan)
    say(console, '\n'.join([*plan.lines(), *machine, f'now         {summary(sweep)}']))
    console.print(plan.table())
    if not DRY_RUN.value:
        ready, sweep = launch.tuned(folder.tuning, plan) if plan.tune else (plan, sweep)
        sweep = launch.carry_out(folder, ready.sweep) if ready else sweep
    if JSON.value:
        print(json.dumps(asdict(sweep)))
    sys.exit(0 if DRY_RUN.value or all(run.status == 'finished' for run in sweep.runs) else 1)


def _next(folder: 'SweepFolder', plan: 'SweepPlan') -> 'Sweep':
    """Return the first sweep of a launch with its current status: the search or its first round, or the plan's runs."""
    from saccade.sweep.record import read_sweep

    if plan.tune is None:
        return folder.joined(plan.sweep)
    steps = plan.tune.rungs[0]
    first = folder.tuning.rung(steps)
    return first.joined(plan.search(steps, plan.settings(read_sweep(first.path))))


def _local(console: 'Console', folder: 'SweepFolder') -> tuple[Callable[['SweepFolder'], Any], int | None, list[str]]:
    """Return the engine, its number of parallel runs (None if unknown), and lines that describe it."""
    from saccade.sweep.local import Local, Worker, shared, shares

    before = folder.cores()
    found = shares(JOBS.value, before)
    workers = [Worker(share) for share in found]  # shared by all folders: the rounds of a search share programs
    for worker in workers:
        atexit.register(worker.end)
    return lambda folder: partial(Local, workers), len(workers), [shared(found, before)]


def _slurm(console: 'Console', folder: 'SweepFolder') -> tuple[Callable[['SweepFolder'], Any], int | None, list[str]]:
    from saccade.sweep.slurm import Slurm, settings_of
    from saccade.train.process.terminal import say

    settings = settings_of(SLURM.value, JOBS.value)
    return lambda folder: partial(Slurm, folder.path, settings, partial(say, console)), JOBS.value, []


if __name__ == '__main__':
    run_main(main)
