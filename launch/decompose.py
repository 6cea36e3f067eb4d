# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Decompose cross-attention: states into a time, a token and a residual component; scores into nine terms.

python launch/decompose.py --workdir=runs/one_to_one --out=report.html
"""

from pathlib import Path

from absl import flags

from saccade.train.process.given import CHECKPOINTS
from saccade.train.process.main import run_main
from saccade.train.process.output import require_file
from saccade.types import UserError

WORKDIR = flags.DEFINE_string('workdir', None, 'Folder of a sequence-to-sequence run.')
CHECKPOINT = flags.DEFINE_enum('checkpoint', 'latest', CHECKPOINTS, 'Checkpoint, or the mean of the last checkpoints.')
ROWS = flags.DEFINE_integer('rows', 256, 'Rows of the validation split for the means.', 1)
OUT = flags.DEFINE_string('out', None, 'File (.html) for the tables and figures of the terms.')
JSON = flags.DEFINE_bool('json', False, 'Print one JSON object.')


def main(overrides: list[str]) -> None:
    """Print the decomposition of a run, and write it as a page if --out is given.

    Raises:
        UserError: overrides are given, --workdir is missing, or --out is not an HTML file that can be written.
    """
    from rich.console import Console

    from saccade.inside.decomposing import Decomposition
    from saccade.inside.decomposition_page import page
    from saccade.train.workdir import write_atomically

    if overrides:
        raise UserError(f"'{overrides[0]}': a run is inspected with its training config")
    if not WORKDIR.value:
        raise UserError('give --workdir=FOLDER, the folder of a run')
    if OUT.value and not OUT.value.lower().endswith('.html'):
        raise UserError(f'--out={OUT.value}: the report is a page; give a file that ends in .html')
    if OUT.value:
        require_file('out', OUT.value)
    found = Decomposition.of(WORKDIR.value, ROWS.value, CHECKPOINT.value)
    if OUT.value:
        write_atomically(Path(OUT.value), page(found))
    report = found.report()
    print(report.json()) if JSON.value else report.show(Console())


if __name__ == '__main__':
    run_main(main)
