# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Show attention of a recurrent decoder in five steps: every number is computed by hand and compared with the module.

python launch/five_steps.py --text="we are eating bread" --turns=3
"""

from absl import flags

from saccade.train.process.main import run_main
from saccade.types import UserError

TEXT = flags.DEFINE_string('text', 'we are eating bread', 'The source text.')
TURNS = flags.DEFINE_integer('turns', 2, 'Number of decoding steps.', 1)
WIDTH = flags.DEFINE_integer('width', 4, 'Width of states and embeddings.', 1)
SEED = flags.DEFINE_integer('seed', 0, 'Seed of the weights.', 0, 2**32 - 1)
JSON = flags.DEFINE_bool('json', False, 'Print one JSON object.')


def main(overrides: list[str]) -> None:
    """Print the five steps of attention for each turn.

    Raises:
        UserError: overrides are given.
    """
    from rich.console import Console

    from saccade.studies.five_steps import Recipe

    if overrides:
        raise UserError(f"'{overrides[0]}': this command takes no config; the model is small, with random weights")
    report = Recipe.of(TEXT.value, TURNS.value, WIDTH.value, SEED.value).report()
    if JSON.value:
        print(report.json())
    else:
        report.show(Console())


if __name__ == '__main__':
    run_main(main)
