# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Train the experiment of a config: the same command resumes it.

python launch/train.py --config=experiments/causal_lm/quickstart.py --workdir=runs/a --config.model.width=256
"""

import json
import sys
from contextlib import nullcontext

from absl import flags

from saccade.commands import as_called
from saccade.train.process.main import TRUST, run_main
from saccade.train.process.output import require_folder
from saccade.train.process.terminal import printable
from saccade.types import UserError

CONFIG = flags.DEFINE_string('config', None, 'Experiment file; any field is overridden by --config.FIELD=VALUE.')
WORKDIR = flags.DEFINE_string('workdir', None, "The run's folder.")
PROFILE = flags.DEFINE_string('profile', None, 'First and last step of a profiler window, as in 10:20.')
RESTART = flags.DEFINE_bool('restart', False, "Start again from step 0; the run's files are moved aside.")
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
        UserError: --config or --workdir is missing, or flags exclude each other.
    """
    import jax

    from saccade.train.config import PREFIX, load_config
    from saccade.train.experiment import Experiment
    from saccade.train.extend import extended
    from saccade.train.loop import Options, train
    from saccade.train.next_steps import Launched, what_next
    from saccade.train.process.processes import Meeting

    if CONFIG.value and f'{PREFIX}help' in overrides:
        _show_fields([override for override in overrides if override != f'{PREFIX}help'])
        return
    if CONFIG.value and PRINT_CONFIG.value:
        print(json.dumps(load_config(CONFIG.value, overrides), indent=2))
        return
    if not CONFIG.value or not WORKDIR.value:
        raise UserError('give --config=FILE and --workdir=FOLDER; the shipped files are in experiments/')
    require_folder('workdir', WORKDIR.value)
    several = DISTRIBUTED.value or COORDINATOR.value
    if not several and (PROCESSES.value, PROCESS.value) != (None, None):
        raise UserError(
            '--processes and --process are for training with several processes: also give --coordinator=HOST:PORT'
        )
    replaced: list[str] = []
    config = extended(load_config(CONFIG.value, overrides, replaced.append), EXTEND.value)
    with Meeting(COORDINATOR.value, PROCESSES.value, PROCESS.value).joined() if several else nullcontext():
        window = _window(PROFILE.value, Experiment.of(config).steps)
        for line in replaced:  # after the check, since an error is one line
            print(line, file=sys.stderr)
        final = train(config, WORKDIR.value, Options(window, JSON.value, RESTART.value, FORCE.value))
    if JSON.value:
        print(json.dumps({'workdir': WORKDIR.value, **final}))
    elif final and jax.process_index() == 0:
        extensions = [f'--extend={extension}' for extension in EXTEND.value]
        launched = Launched(CONFIG.value, WORKDIR.value, overrides, _trust(), extensions)
        print(as_called(printable('\n'.join(what_next(launched, config)))))


def _show_fields(overrides: list[str]) -> None:
    from rich.console import Console

    from saccade.analysis.fields import of_config
    from saccade.train.config import load_config

    for described in of_config(load_config(CONFIG.value, overrides)):
        described.show(Console(highlight=False))


def _trust() -> list[str]:
    return [f'--trust={",".join(TRUST.value)}'] if TRUST.value else []


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
