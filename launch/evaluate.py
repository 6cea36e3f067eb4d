# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Evaluate a run on a whole split: loss, perplexity, bits per byte; or the metrics of its task, with intervals.

python launch/evaluate.py --workdir=runs/a
python launch/evaluate.py --workdir=runs/a --config.data.path=other.txt    # on other data than in training
python launch/evaluate.py --config=experiments/causal_lm/quickstart.py --config.inherit=model --config.init_from=DIR

Another file is evaluated as a whole. With --config the weights of --config.init_from are evaluated on the validation
split of that experiment, as they are before its first step; --config.data.validation=1 evaluates all of a file.
"""

import json

from absl import flags

from saccade.train.process.given import CHECKPOINTS
from saccade.train.process.main import run_main
from saccade.types import UserError

CONFIG = flags.DEFINE_string('config', None, 'Experiment file, to evaluate the weights that it starts from.')
WORKDIR = flags.DEFINE_string('workdir', None, "The run's folder.")
CHECKPOINT = flags.DEFINE_enum('checkpoint', 'latest', CHECKPOINTS, 'Checkpoint, or the mean of the last checkpoints.')
SPLIT = flags.DEFINE_string('split', 'validation', 'Split: train, validation, or test if the data have one.')
WINDOWS = flags.DEFINE_integer(
    'windows', 0, 'Also estimate the loss on this number of random windows, like nanoGPT.', 0
)
LENGTH = flags.DEFINE_integer('length', 0, 'Sequence length in tokens; 0 for the training length.', 0)
JSON = flags.DEFINE_bool('json', False, 'Print one JSON object.')


def main(overrides: list[str]) -> None:
    """Print the evaluation of a run, or of the start of an experiment, on a whole split.

    Raises:
        UserError: not exactly one of --workdir and --config is given; of a run, an override changes the tokenizer, or a
            field outside the data.
    """
    from saccade.train.config import load_config
    from saccade.train.evaluate import EvaluationOptions, evaluate_run, evaluate_start

    if bool(WORKDIR.value) == bool(CONFIG.value):
        raise UserError('give --workdir=FOLDER, the folder of a run, or --config=FILE with --config.init_from=DIR')
    if CONFIG.value:
        if CHECKPOINT.value != 'latest' or WINDOWS.value:
            raise UserError('--checkpoint and --windows are for runs: give them with --workdir')
        found = evaluate_start(
            load_config(CONFIG.value, overrides), EvaluationOptions(split=SPLIT.value, length=LENGTH.value)
        )
    else:
        _require_data(overrides)
        options = EvaluationOptions(CHECKPOINT.value, SPLIT.value, WINDOWS.value, LENGTH.value, tuple(overrides))
        found = evaluate_run(WORKDIR.value, options)
    print(json.dumps(found.record()) if JSON.value else '\n'.join(found.lines()))


def _require_data(overrides: list[str]) -> None:
    from saccade.train.config import PREFIX

    for override in overrides:
        if not override.startswith(f'{PREFIX}data.'):
            raise UserError(f"'{override}': a run is evaluated with its training config; only config.data may change")
        if override.startswith(f'{PREFIX}data.tokenizer'):
            raise UserError(f"'{override}': a run is evaluated with its training tokenizer")


if __name__ == '__main__':
    run_main(main)
