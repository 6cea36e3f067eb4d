# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Answer a question about a text by a span of it, with a run that was trained to.

python launch/answer.py --workdir=runs/answer --question="What is the home of Ada?" --context_file=ada.txt
"""

import json
from pathlib import Path

from absl import flags

from saccade.decode.answer import Reader, lines, record
from saccade.train.experiment import Experiment
from saccade.train.main import run_main
from saccade.train.trained import CHECKPOINTS, open_trained
from saccade.types import UserError

WORKDIR = flags.DEFINE_string('workdir', None, "The run's folder.")
CHECKPOINT = flags.DEFINE_enum('checkpoint', 'latest', CHECKPOINTS, 'Which checkpoint, or the mean of the last.')
QUESTION = flags.DEFINE_string('question', None, 'What is asked.')
CONTEXT = flags.DEFINE_string('context', None, 'The text that has the answer.')
CONTEXT_FILE = flags.DEFINE_string('context_file', None, 'In its place: a file with that text.')
JSON = flags.DEFINE_bool('json', False, 'Print one JSON object.')


def main(overrides: list[str]) -> None:
    if overrides:
        raise UserError(f"'{overrides[0]}': a model answers with the config it was trained with")
    if not WORKDIR.value or not QUESTION.value:
        raise UserError('give --workdir=FOLDER, the folder of a run, and --question=TEXT')
    context = _context()
    trained = open_trained(WORKDIR.value, which=CHECKPOINT.value)
    experiment = Experiment.of(trained.config)
    reader = Reader(experiment.task(), experiment.data(), trained.model, trained.params, trained.tokenizer)
    found = reader.read(QUESTION.value, context)
    print(json.dumps({'question': QUESTION.value} | record(found)) if JSON.value else '\n'.join(lines(found)))


def _context() -> str:
    if bool(CONTEXT.value) == bool(CONTEXT_FILE.value):
        raise UserError('give either --context=TEXT or --context_file=FILE')
    if CONTEXT.value:
        return CONTEXT.value
    try:
        return Path(CONTEXT_FILE.value).read_text(encoding='utf-8')
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f'--context_file={CONTEXT_FILE.value}: cannot be read ({error})') from error


if __name__ == '__main__':
    run_main(main)
