# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Train the experiment of a config: the same command resumes it, and so does --workdir alone.

python launch/train.py --config=experiments/causal_lm/quickstart.py --workdir=runs/a --config.model.width=256
python launch/train.py --workdir=runs/a
"""

import json
import sys
from contextlib import nullcontext

from absl import flags

from saccade.commands import as_called
from saccade.train.process.main import run_main
from saccade.train.process.output import require_folder
from saccade.train.process.terminal import printable
from saccade.types import UserError

CONFIG = flags.DEFINE_string(
    'config', None, 'Experiment file; any field is overridden by --config.FIELD=VALUE. Default: that of the run.'
)
WORKDIR = flags.DEFINE_string('workdir', None, "The run's folder, also in a bucket (gs://, s3://).")
PROFILE = flags.DEFINE_string('profile', None, 'First and last step of a profiler window, as in 10:20.')
RESTART = flags.DEFINE_bool('restart', False, "Start again from step 0; the run's files are moved aside.")
RESUME = flags.DEFINE_bool(
    'resume', False, 'Only continue the run in --workdir, and begin none. Without this flag a run is continued too.'
)
WANDB = flags.DEFINE_string('wandb', None, 'Also log to this project of Weights & Biases.')
PRINT_CONFIG = flags.DEFINE_bool('print_config', False, 'Only print the resolved config as JSON.')
FORCE = flags.DEFINE_bool('force', False, 'Train even if a step needs far more memory than a device has.')
EXTEND = flags.DEFINE_multi_string(
    'extend', [], 'More steps for the run: rewarmed:STEPS, or constant:STEPS at its last learning rate.'
)
JSON = flags.DEFINE_bool('json', False, 'Print only one JSON object, the final evaluation.')
COORDINATOR = flags.DEFINE_string('coordinator', None, 'host:port of process 0, for training with several processes.')
PROCESSES = flags.DEFINE_integer('processes', None, 'Number of processes that train together.')
PROCESS = flags.DEFINE_integer('process', None, 'Index of this process, from 0.')
DISTRIBUTED = flags.DEFINE_bool('distributed', False, 'Train with the other processes of this Slurm step or TPU slice.')


def main(overrides: list[str]) -> None:
    """Train the run, and print the final evaluation with --json.

    Raises:
        UserError: --config or --workdir is missing, flags exclude each other, or there is no run to resume.
    """
    import jax

    from saccade.train.bucket import is_bucket
    from saccade.train.config import PREFIX, load_config
    from saccade.train.experiment import Experiment
    from saccade.train.extend import extended, is_under_way
    from saccade.train.log.wandb import logging_to
    from saccade.train.loop import Options, train
    from saccade.train.next_steps import what_next
    from saccade.train.process.processes import Meeting
    from saccade.train.workdir import Workdir, absolute

    run = Workdir.at(WORKDIR.value) if WORKDIR.value else None
    begun = run is not None and run.config.is_file()
    path = CONFIG.value or (str(run.config) if begun else None)
    if path and f'{PREFIX}help' in overrides:
        _show_fields(path, [override for override in overrides if override != f'{PREFIX}help'])
        return
    if path and WANDB.value is not None:
        overrides = [*overrides, logging_to(WANDB.value, load_config(path, overrides))]
    if path and PRINT_CONFIG.value:
        print(json.dumps(load_config(path, overrides), indent=2))
        return
    if not path or not WORKDIR.value:
        raise UserError('give --config=FILE and --workdir=FOLDER; the shipped files are in experiments/')
    if not is_bucket(WORKDIR.value):
        require_folder('workdir', WORKDIR.value)
    if RESUME.value and RESTART.value:
        raise UserError('give --resume or --restart, not both')
    if RESUME.value and not begun:
        raise UserError(f'--resume: {WORKDIR.value} holds no run; without --resume a run begins there')
    several = DISTRIBUTED.value or COORDINATOR.value
    if not several and (PROCESSES.value, PROCESS.value) != (None, None):
        raise UserError(
            '--processes and --process are for training with several processes: also give --coordinator=HOST:PORT'
        )
    replaced: list[str] = []
    config = load_config(path, overrides, replaced.append)
    extensions = EXTEND.value
    if absolute(path) != run.config or not is_under_way(run, config, extensions):
        config = extended(config, extensions)
    with Meeting(COORDINATOR.value, PROCESSES.value, PROCESS.value).joined() if several else nullcontext():
        window = _window(PROFILE.value, Experiment.of(config).steps)
        for line in replaced:  # after the check, since an error is one line
            print(line, file=sys.stderr)
        final = train(config, WORKDIR.value, Options(window, JSON.value, RESTART.value, FORCE.value))
    if JSON.value:
        print(json.dumps({'workdir': WORKDIR.value, **final}))
    elif final and jax.process_index() == 0:
        print(as_called(printable('\n'.join(what_next(WORKDIR.value, config)))))


def _show_fields(path: str, overrides: list[str]) -> None:
    from rich.console import Console

    from saccade.analysis.fields import of_config
    from saccade.train.config import load_config

    for described in of_config(load_config(path, overrides)):
        described.show(Console(highlight=False))


def _window(text: str | None, steps: int) -> tuple[int, int] | None:
    if text is None:
        return None
    first, _, last = text.partition(':')
    if not (first.isdecimal() and last.isdecimal() and 0 < int(first) <= int(last)):
        raise UserError(f'--profile={text}: give the first and the last step, as in 10:20')
    if int(last) > steps:
        raise UserError(f'--profile={text}: the run ends at step {steps}')
    return int(first), int(last)


if __name__ == '__main__':
    run_main(main)
