# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""List all variants with their declared capabilities.

python launch/variants.py
"""

import json
from pathlib import Path

from absl import flags

from saccade.train.process.main import run_main
from saccade.types import UserError

README = Path(__file__).parents[1] / 'README.md'

WRITE = flags.DEFINE_bool('write', False, 'Write the tables into README.md.')
JSON = flags.DEFINE_bool('json', False, 'Print one JSON object.')


def main(overrides: list[str]) -> None:
    """Print the tables of variants, and update the README with --write.

    Raises:
        UserError: overrides are given.
    """
    from rich.console import Console

    from saccade.analysis.catalogue import matrix, readme
    from saccade.analysis.catalogue.catalogue import Catalogue

    if overrides:
        raise UserError(f"'{overrides[0]}': this command takes no config")
    catalogue = Catalogue.ours()
    if WRITE.value:
        readme.write(README, catalogue)
    if JSON.value:
        print(json.dumps(matrix.as_json(catalogue)))
    else:
        matrix.show(catalogue, Console())


if __name__ == '__main__':
    run_main(main)
