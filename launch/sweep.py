# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Run a sweep, many runs from one config, or go on with it: the same command again continues.

python launch/sweep.py --config=experiments/causal_lm/quickstart.py --sweep=experiments/sweeps/heads.py \
    --workdir=runs/heads --jobs=2
"""

import json
import shlex
import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path

import jax
from absl import flags
from rich.console import Console

from saccade.sweep.board import display, ending, summary
from saccade.sweep.conduct import carry_out
from saccade.sweep.folder import SweepFolder
from saccade.sweep.local import Local, shares
from saccade.sweep.plan import Plan
from saccade.sweep.slurm import Slurm, settings_of
from saccade.train.process.main import run_main
from saccade.train.process.output import require_folder
from saccade.train.process.terminal import say
from saccade.types import UserError

CONFIG = flags.DEFINE_string('config', None, 'Experiment file; --config.FIELD=VALUE holds for every run.')
SWEEP = flags.DEFINE_string('sweep', None, 'File with get_sweep(); experiments/sweeps/ has those we ship.')
WORKDIR = flags.DEFINE_string('workdir', None, "The sweep's folder; each run has one of its own below it.")
JOBS = flags.DEFINE_integer('jobs', None, 'Runs at a time, each on a GPU or an equal share of the cores.')
ENGINE = flags.DEFINE_enum('engine', 'local', ['local', 'slurm'], 'Where runs are carried out: here, or on a cluster.')
SLURM = flags.DEFINE_multi_string('slurm', [], 'KEY=VALUE as for sbatch: time in minutes, partition, ...')
DRY_RUN = flags.DEFINE_bool('dry_run', False, 'Print the runs and their cost, and start nothing.')
JSON = flags.DEFINE_bool('json', False, 'Print one JSON object, the sweep and how each run ended, and nothing else.')

TRAIN = (sys.executable, str(Path(__file__).absolute().with_name('train.py')))


def main(overrides: list[str]) -> None:
    """Carry out the sweep, and exit with an error status if a run has not finished.

    Raises:
        UserError: --config, --sweep or --workdir is missing, or a variant is not valid.
    """
    if not (CONFIG.value and SWEEP.value and WORKDIR.value):
        raise UserError('give --config=FILE, --sweep=FILE and --workdir=FOLDER; experiments/ has the files we ship')
    require_folder('workdir', WORKDIR.value)
    jax.config.update('jax_platforms', 'cpu')  # of this process, which only counts; the runs choose for themselves
    console, folder = Console(quiet=JSON.value, highlight=False), SweepFolder.of(WORKDIR.value)
    engine = {
        'local': lambda: partial(Local, shares(JOBS.value)),
        'slurm': lambda: partial(Slurm, folder.path, settings_of(SLURM.value, JOBS.value), partial(say, console)),
    }[ENGINE.value]()
    plan = Plan.of(CONFIG.value, SWEEP.value, overrides)
    sweep = folder.joined(plan.sweep)
    say(console, '\n'.join([*plan.lines(), f'now         {summary(sweep)}']))
    console.print(plan.table())
    if not DRY_RUN.value:
        sweep = carry_out(folder, sweep, engine, TRAIN, display(console, folder))
        flag = shlex.quote(f'--workdir={WORKDIR.value}')
        say(console, '\n'.join([*ending(sweep), f'See what it shows: python launch/report.py {flag}']))
    if JSON.value:
        print(json.dumps(asdict(sweep)))
    sys.exit(0 if DRY_RUN.value or all(run.status == 'finished' for run in sweep.runs) else 1)


if __name__ == '__main__':
    run_main(main)
