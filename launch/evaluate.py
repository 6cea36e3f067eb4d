# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Evaluate a run over a whole split: loss, perplexity, bits per byte; or the metrics of its task, with intervals.

python launch/evaluate.py --workdir=runs/a
python launch/evaluate.py --workdir=runs/a --config.data.path=other.txt    # on other data than those of training
"""

import json

from absl import flags

from saccade.train.process.given import CHECKPOINTS
from saccade.train.process.main import run_main
from saccade.types import UserError

WORKDIR = flags.DEFINE_string('workdir', None, "The run's folder.")
CHECKPOINT = flags.DEFINE_enum('checkpoint', 'latest', CHECKPOINTS, 'Which checkpoint, or the mean of the last.')
SPLIT = flags.DEFINE_string('split', 'validation', 'Which split: train, validation, or test where the data have one.')
WINDOWS = flags.DEFINE_integer('windows', 0, 'Estimate the loss on so many random windows too, as nanoGPT does.', 0)
LENGTH = flags.DEFINE_integer('length', 0, 'Length of a sequence in tokens; 0 for that of training.', 0)
JSON = flags.DEFINE_bool('json', False, 'Print one JSON object.')


def main(overrides: list[str]) -> None:
    """Print the evaluation of a run over a whole split.

    Raises:
        UserError: overrides are of others than the data, or of the tokenizer; or --workdir is missing.
    """
    from saccade.train.config import PREFIX
    from saccade.train.evaluate import Asked, evaluate_run

    for override in overrides:
        if not override.startswith(f'{PREFIX}data.'):
            raise UserError(f"'{override}': a run is evaluated with the config it was trained with, but for its data")
        if override.startswith(f'{PREFIX}data.tokenizer'):
            raise UserError(f"'{override}': a run is evaluated with the tokenizer it was trained with")
    if not WORKDIR.value:
        raise UserError('give --workdir=FOLDER, the folder of a run')
    asked = Asked(CHECKPOINT.value, SPLIT.value, WINDOWS.value, LENGTH.value, tuple(overrides))
    found = evaluate_run(WORKDIR.value, asked)
    print(json.dumps(found.record()) if JSON.value else '\n'.join(found.lines()))


if __name__ == '__main__':
    run_main(main)
