# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Inspect a model on a batch of validation data: gradient norms by layer, and attention patterns by head.

python launch/inside.py --workdir=runs/a
python launch/inside.py --config=experiments/causal_lm/quickstart.py       # before training
"""

from absl import flags
from rich.console import Console

from saccade.analysis.inspect.inspection import inspect_config, inspect_run
from saccade.train.config import load_config
from saccade.train.process.main import run_main
from saccade.types import UserError

WORKDIR = flags.DEFINE_string('workdir', None, "A run's folder: its newest checkpoint is looked at.")
CONFIG = flags.DEFINE_string('config', None, 'Experiment file, changed by --config.FIELD=VALUE: its first weights.')
JSON = flags.DEFINE_bool('json', False, 'Print one JSON object.')


def main(overrides: list[str]) -> None:
    """Print gradient norms by layer and attention patterns by head.

    Raises:
        UserError: not exactly one of --workdir and --config is given, or overrides are given with --workdir.
    """
    if bool(WORKDIR.value) == bool(CONFIG.value):
        raise UserError('give either --workdir=FOLDER, the folder of a run, or --config=FILE, an experiment')
    if WORKDIR.value and overrides:
        raise UserError(f"'{overrides[0]}': a run is looked at with the config it was trained with")
    if WORKDIR.value:
        report = inspect_run(WORKDIR.value)
    else:
        report = inspect_config(load_config(CONFIG.value, overrides), CONFIG.value)
    print(report.json()) if JSON.value else report.show(Console())


if __name__ == '__main__':
    run_main(main)
