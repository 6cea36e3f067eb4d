# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Tabulate the parameters of a model by role: count, shape, share of the total, and norm.

The parameters of an experiment are not created; instead of norms the table shows which of them decay.

python launch/params.py --workdir=runs/a
python launch/params.py --config=experiments/causal_lm/gpt2_124m.py --config.model.layers=48      # nothing is created
"""

from absl import flags

from saccade.train.process.main import run_main
from saccade.types import UserError

WORKDIR = flags.DEFINE_string('workdir', None, "A run's folder; its newest checkpoint is used.")
INIT_FROM = flags.DEFINE_string('init_from', None, 'A run, a Hugging Face directory or hf:ORG/NAME.')
CONFIG = flags.DEFINE_string('config', None, 'Experiment file, changed by --config.FIELD=VALUE; shows shapes only.')
JSON = flags.DEFINE_bool('json', False, 'Print one JSON object.')


def main(overrides: list[str]) -> None:
    """Print the table of a model's parameters.

    Raises:
        UserError: not exactly one of --workdir, --init_from and --config is given, or overrides without --config.
    """
    from rich.console import Console

    from saccade.inside.parameters import tabulate_config, tabulate_weights
    from saccade.train.config import load_config

    if [WORKDIR.value, INIT_FROM.value, CONFIG.value].count(None) != 2:
        raise UserError('give one of --workdir=FOLDER, a run, --init_from=FOLDER, and --config=FILE, an experiment')
    if overrides and not CONFIG.value:
        raise UserError(f"'{overrides[0]}': a trained model has fixed parameters; overrides need --config")
    if CONFIG.value:
        report = tabulate_config(load_config(CONFIG.value, overrides), CONFIG.value)
    else:
        report = tabulate_weights(WORKDIR.value or INIT_FROM.value)
    print(report.json()) if JSON.value else report.show(Console())


if __name__ == '__main__':
    run_main(main)
