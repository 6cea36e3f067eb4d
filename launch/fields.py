# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Print the fields of a part or of an experiment: types, defaults and meanings.

python launch/fields.py attention.multi_head:MultiHead                     # or --part=attention.multi_head:MultiHead
python launch/fields.py --config=experiments/causal_lm/quickstart.py       # all fields that can be overridden
"""

import sys

from absl import flags

from saccade.train.process.main import run_main
from saccade.types import UserError

PART = flags.DEFINE_string('part', None, 'Import path of a part, as in `use` of a config.')
CONFIG = flags.DEFINE_string('config', None, 'Experiment file; overrides such as --config.FIELD=VALUE may swap parts.')


def main(overrides: list[str]) -> None:
    """Print the fields.

    Raises:
        UserError: not exactly one of --part and --config is given.
    """
    from rich.console import Console

    from saccade.analysis.fields import of_config, of_part
    from saccade.train.config import load_config

    if bool(PART.value) == bool(CONFIG.value) or (overrides and PART.value):
        raise UserError('give either a part, as MODULE:CLASS, or --config=FILE, with overrides or without')
    found = [of_part(PART.value)] if PART.value else of_config(load_config(CONFIG.value, overrides))
    for described in found:
        described.show(Console(highlight=False))


if __name__ == '__main__':
    if len(sys.argv) > 1 and not sys.argv[1].startswith('-'):
        sys.argv[1] = f'--part={sys.argv[1]}'
    run_main(main)
