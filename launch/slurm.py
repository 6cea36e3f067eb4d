# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Train on a Slurm cluster, on one host or several: submit the run, or find its job again, and show its output.

python launch/slurm.py --config=experiments/causal_lm/gpt2_124m.py --workdir=runs/gpt2 --slurm=time=240 \
    --slurm=nodes=2 --slurm=gpus_per_node=8 --slurm=partition=gpu --config.mesh.fsdp=16
"""

import sys
from functools import partial
from pathlib import Path

from absl import flags

from saccade.train.process.main import run_main
from saccade.train.process.output import require_folder
from saccade.types import UserError

CONFIG = flags.DEFINE_string('config', None, 'Experiment file; any field is overridden by --config.FIELD=VALUE.')
WORKDIR = flags.DEFINE_string('workdir', None, "The run's folder, on a disk shared by all hosts.")
FORCE = flags.DEFINE_bool('force', False, 'Train even if a step needs far more memory than a device has.')
SLURM = flags.DEFINE_multi_string(
    'slurm', [], 'KEY=VALUE, options of sbatch: time in minutes, nodes, gpus_per_node, ...'
)

TRAIN = (sys.executable, str(Path(__file__).absolute().with_name('train.py')))


def main(overrides: list[str]) -> None:
    """Submit the run as a Slurm job, show its output, and exit with its status.

    Raises:
        UserError: --config or --workdir is missing, or the config is not valid.
    """
    from saccade.sweep.engine import Job
    from saccade.sweep.follow import follow
    from saccade.sweep.slurm import Slurm, settings_of
    from saccade.train.config import load_config
    from saccade.train.experiment import Experiment
    from saccade.train.setup import make_learner
    from saccade.train.workdir import Workdir, absolute

    if not (CONFIG.value and WORKDIR.value):
        raise UserError('give --config=FILE and --workdir=FOLDER; the shipped files are in experiments/')
    require_folder('workdir', WORKDIR.value)
    settings, config = settings_of(SLURM.value), load_config(CONFIG.value, overrides)
    make_learner(Experiment.of(config))  # report errors before the job waits in the queue
    workdir = Workdir.check(absolute(WORKDIR.value), config)
    forced = ['--force'] if FORCE.value else []
    command = (*TRAIN, *forced, f'--config={CONFIG.value}', f'--workdir={workdir.path}', *overrides)
    job = Job(workdir.path.name, command, workdir.path / 'printed.log')
    show = partial(print, end='', flush=True)
    status = follow(Slurm(workdir.path, settings, print), job, show)
    sys.exit(1 if status is None else status)


if __name__ == '__main__':
    run_main(main)
