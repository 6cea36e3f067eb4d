# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Linear probes: logistic regression on frozen vectors of texts from each layer of one or several models.

python launch/probe.py --workdir=runs/bert --data=FOLDER --text=0 --label=1
python launch/probe.py --workdir=runs/sbert --workdir=runs/bert --workdir=runs/words --data=FOLDER --text=0 --task=word

The data are a .csv, .tsv or .jsonl file, or a folder with train.* and dev.* of these; columns have names, or numbers
in a file without a header. Tasks other than `label` are made from the texts: `length` in words, two `swapped` words,
which `word` a text has. Differences between models are to the first one, paired by text.
"""

import json
from pathlib import Path

from absl import flags

from saccade.inside.probing_tasks import TASKS
from saccade.train.process.given import DTYPES, refuse_given
from saccade.train.process.main import run_main
from saccade.types import UserError

WORKDIR = flags.DEFINE_multi_string('workdir', [], "A run's folder; may be repeated.")
INIT_FROM = flags.DEFINE_multi_string('init_from', [], 'A Hugging Face directory or hf:ORG/NAME; may be repeated.')
DTYPE = flags.DEFINE_enum('dtype', 'float32', DTYPES, 'Type of the parameters and of the computation.')
PART = flags.DEFINE_string('part', '', 'Model of the runs, if they trained several together.')
DATA = flags.DEFINE_string('data', None, 'File or folder of texts.')
TEXT = flags.DEFINE_string('text', 'text', 'Column of the text.')
LABEL = flags.DEFINE_string('label', 'label', 'Column of the class.')
TASK = flags.DEFINE_enum('task', 'label', ['label', *TASKS], 'The column of the class, or a task made from the texts.')
VALIDATION = flags.DEFINE_float('validation', 0.1, 'Fraction for validation, if the data have no such split.')
JSON = flags.DEFINE_bool('json', False, 'Print one JSON object.')


def main(overrides: list[str]) -> None:
    """Print the accuracy of a probe on each layer, and of several models the differences.

    Raises:
        UserError: overrides are given, a model or the data are missing or cannot be read, or a flag has no effect.
    """
    from rich.console import Console

    from saccade.data.corpus.records import open_records
    from saccade.decode.text_reader import TextReader
    from saccade.inside.probing import LabelledTexts, Probes, probe
    from saccade.train.trained import open_trained

    if overrides:
        raise UserError(f"'{overrides[0]}': a model reads with its training config")
    if not (WORKDIR.value or INIT_FROM.value):
        raise UserError('give --workdir=RUN or --init_from=FOLDER, once or more')
    if not DATA.value:
        raise UserError('give --data=FILE, of texts with classes, or a folder with train.* and dev.* of these')
    if not 0 < VALIDATION.value < 1:
        raise UserError(f'--validation={VALIDATION.value:g} must be above 0 and below 1')
    if TASK.value != 'label':
        refuse_given(f'with --task={TASK.value}', LABEL)
    task = TASKS.get(TASK.value, LABEL.value)
    columns = (TEXT.value, LABEL.value) if task is LABEL.value else (TEXT.value,)
    records = open_records(None, DATA.value, Path(), VALIDATION.value, columns)
    data = LabelledTexts.read(records, TEXT.value, task)
    models = []
    for workdir, init_from in [*((run, None) for run in WORKDIR.value), *((None, path) for path in INIT_FROM.value)]:
        trained = open_trained(workdir, init_from, dtype=DTYPE.value).only(PART.value)
        reader = TextReader(trained.model, trained.params, trained.tokenizer, head=trained.folder is None)
        models.append(probe(workdir or init_from, reader.layers(data.texts), data))
    found = Probes(data, models)
    if JSON.value:
        print(json.dumps(found.record()))
        return
    for table in found.tables():
        table.show(Console())


if __name__ == '__main__':
    run_main(main)
