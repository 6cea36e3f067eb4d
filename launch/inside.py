# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Inspect a model on a batch of validation data: gradient norms by layer, and attention patterns by head.

python launch/inside.py --workdir=runs/a
python launch/inside.py --config=experiments/causal_lm/quickstart.py       # before training
python launch/inside.py --workdir=runs/vit --picture=attention.png         # attention over images, head by head
"""

from pathlib import Path

from absl import flags

from saccade.train.process.given import refuse_given
from saccade.train.process.main import run_main
from saccade.types import UserError

WORKDIR = flags.DEFINE_string('workdir', None, "A run's folder; its newest checkpoint is inspected.")
CONFIG = flags.DEFINE_string(
    'config', None, 'Experiment file, changed by --config.FIELD=VALUE; inspects its initial weights.'
)
PICTURE = flags.DEFINE_string('picture', None, 'File for a figure of attention over images, for a run on images.')
JSON = flags.DEFINE_bool('json', False, 'Print one JSON object.')


def main(overrides: list[str]) -> None:
    """Print gradient norms by layer and attention patterns by head.

    Raises:
        UserError: not exactly one of --workdir and --config is given, or overrides are given with --workdir.
    """
    from rich.console import Console

    from saccade.inside.inspection import inspect_config, inspect_run
    from saccade.inside.over_images import draw_over_images
    from saccade.train.config import load_config

    if bool(WORKDIR.value) == bool(CONFIG.value):
        raise UserError('give either --workdir=FOLDER, the folder of a run, or --config=FILE, an experiment')
    if WORKDIR.value and overrides:
        raise UserError(f"'{overrides[0]}': a run is inspected with its training config")
    if PICTURE.value and not WORKDIR.value:
        raise UserError('--picture shows a trained model; give --workdir=FOLDER')
    if PICTURE.value:
        refuse_given('with --picture', JSON)
        draw_over_images(WORKDIR.value, Path(PICTURE.value))
        print(f'drawn: {PICTURE.value}')
        return
    if WORKDIR.value:
        report = inspect_run(WORKDIR.value)
    else:
        report = inspect_config(load_config(CONFIG.value, overrides), CONFIG.value)
    print(report.json()) if JSON.value else report.show(Console())


if __name__ == '__main__':
    run_main(main)
