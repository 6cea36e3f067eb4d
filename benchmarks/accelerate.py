# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Benchmark one accelerator in a few minutes: kernels, training, decoding. A stopped benchmark continues.

make accelerator                                          # which installs what is missing, if it can
python -m benchmarks.accelerate --minutes=10              # with what this Python has
python -m benchmarks.accelerate --size=tiny --output=runs/tiny.json    # to see that every row works, on a CPU too
"""

from pathlib import Path

from absl import flags

from saccade.train.process.main import run_main
from saccade.train.process.output import require_file
from saccade.train.process.terminal import say
from saccade.types import UserError

MINUTES = flags.DEFINE_float('minutes', 10.0, 'Time limit for all rows; an interrupted row is repeated later.', 0.0)
SIZE = flags.DEFINE_enum('size', 'full', ['full', 'tiny'], 'Sizes of models, matrices and rows.')
OUTPUT = flags.DEFINE_string('output', 'runs/accelerator.json', 'File of the rows; rows that it already has are kept.')
JSON = flags.DEFINE_bool('json', False, 'Print the rows as one JSON object.')


def main(overrides: list[str]) -> None:
    """Measure rows until the time limit, write each to the file at once, and print them.

    Raises:
        UserError: overrides are given, the file cannot be written or is used by another command, or its rows are from
            another device or size.
    """
    from rich.console import Console

    from benchmarks.accelerator import SCALES, accelerate, recording, table

    if overrides:
        raise UserError(f"'{overrides[0]}': this command takes no config; its rows are fixed")
    file = Path(OUTPUT.value)
    file.parent.mkdir(parents=True, exist_ok=True)
    require_file('output', OUTPUT.value)
    with recording(file, SIZE.value) as record:
        traces, said = str(file.with_suffix('.trace')), Console(stderr=True)
        left = accelerate(record, SCALES[SIZE.value], MINUTES.value, traces, said)
    if JSON.value:
        print(record.json(), end='')
        return
    console = Console()
    table(record).show(console)
    if left:
        say(console, f'left: {", ".join(row.name for row in left)}; the same command continues with them')


if __name__ == '__main__':
    run_main(main)
