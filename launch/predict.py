# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Predict with a fine-tuned model on new examples: a class, a number, a tag for each word, an answer, a caption.

python launch/predict.py --workdir=runs/classify --text="A film like no other." --text="I fell asleep."
python launch/predict.py --workdir=runs/answer --question="What is the home of Ada?" --context_file=ada.txt
python launch/predict.py --workdir=runs/tag --file=sentences.txt --json
python launch/predict.py --workdir=runs/vit --image=a.png --image=b.png
python launch/predict.py --workdir=runs/chirps --sound=a.wav
python launch/predict.py --init_from=FOLDER_OF_A_CLASSIFIER --file=reviews.csv --columns=review

A Hugging Face directory predicts by its architecture: ...ForSequenceClassification (texts, or pairs of texts),
...ForTokenClassification, ...ForQuestionAnswering or ...ForImageClassification. Rows have at most 512 tokens; a longer
text is read in chunks, and a longer pair is cut.

Examples come from flags, from a file or from standard input. A file is .csv, .tsv, .jsonl, .conll or .json in the
format of the run's data, and paths in it are relative to its folder; any other file, and standard input, has one text,
or one path of an image or a sound, per line. A tab separates two inputs.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from absl import flags

from saccade.decode.batches import PREDICTED
from saccade.train.process.given import CHECKPOINTS, refuse_given, require_content, require_files
from saccade.train.process.main import run_main
from saccade.train.process.terminal import printable
from saccade.types import UserError

WORKDIR = flags.DEFINE_string('workdir', None, "The run's folder.")
INIT_FROM = flags.DEFINE_string('init_from', None, 'A run, a Hugging Face directory or hf:ORG/NAME; or --workdir.')
COLUMNS = flags.DEFINE_list(
    'columns', None, "For a directory: the columns of --file's texts, one or two; default: text."
)
CHECKPOINT = flags.DEFINE_enum('checkpoint', 'latest', CHECKPOINTS, 'Checkpoint, or the mean of the last checkpoints.')
TEXT = flags.DEFINE_multi_string('text', [], 'A text, or the words of a sentence to tag; may be repeated.')
PAIR = flags.DEFINE_multi_string('pair', [], 'Second text, for a run on pairs; one for each --text, or one for all.')
QUESTION = flags.DEFINE_multi_string('question', [], 'A question; may be repeated.')
CONTEXT = flags.DEFINE_multi_string('context', [], 'Text with the answer; one for each --question, or one for all.')
IMAGE = flags.DEFINE_multi_string('image', [], 'A file with an image; may be repeated.')
SOUND = flags.DEFINE_multi_string('sound', [], 'A WAV file; may be repeated.')
CONTEXT_FILE = flags.DEFINE_string('context_file', None, 'File with the text, instead of --context.')
FILE = flags.DEFINE_string('file', None, 'File of records, or with one text per line, instead of these flags.')
BATCH = flags.DEFINE_integer('batch', PREDICTED, 'Batch size; 1 answers each text as it comes.', 1)
JSON = flags.DEFINE_bool('json', False, 'Print one JSON object per text.')


def main(overrides: list[str]) -> None:
    """Print the prediction for each text.

    Raises:
        UserError: overrides are given, not exactly one model is given, a text is empty, or a flag has no effect.
    """
    from saccade.decode.inputs import placed_records
    from saccade.train.predictive_folder import INPUTS, predictive_of
    from saccade.train.trained import is_hub

    if overrides:
        raise UserError(f"'{overrides[0]}': a model predicts with its training config")
    require_content(TEXT, PAIR, QUESTION, CONTEXT, IMAGE, SOUND, CONTEXT_FILE, FILE, COLUMNS)
    require_files(IMAGE, SOUND)
    given = _given()
    if not (FILE.value and INIT_FROM.value and is_hub(INIT_FROM.value)):
        refuse_given('without --file and a Hugging Face directory', COLUMNS)
    rows = min(BATCH.value, max(map(len, given.values()))) if given else BATCH.value
    model = predictive_of(WORKDIR.value, INIT_FROM.value, COLUMNS.value or INPUTS[: 1 + ('pair' in given)])
    records = placed_records(model.data, given, FILE.value)
    predictor = model.open(CHECKPOINT.value, rows)
    for inputs, output in predictor.predict(records):
        print(
            json.dumps({**inputs, **output.record()}) if JSON.value else printable('\n'.join(output.lines(inputs))),
            flush=True,
        )


def _given() -> Mapping[str, Sequence[str]]:
    from saccade.data.corpus.files import content_of, decoded

    values = {flag.name: flag.value for flag in (TEXT, PAIR, QUESTION, CONTEXT, IMAGE, SOUND)}
    if CONTEXT_FILE.value and CONTEXT.value:
        raise UserError('give either --context or --context_file')
    if CONTEXT_FILE.value:
        path = Path(CONTEXT_FILE.value)
        values['context'] = [decoded(content_of(path), path)]
    return {name: texts for name, texts in values.items() if texts}


if __name__ == '__main__':
    run_main(main)
