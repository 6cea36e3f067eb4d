# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Translate with a sequence-to-sequence run: a text, the lines of a file, or standard input.

python launch/translate.py --workdir=runs/dates --text="the third of March 1999" --alignment=map.png
python launch/translate.py --workdir=runs/m30k --file=test.en --beams=5 > test.de
python launch/translate.py --workdir=runs/ul2 --mode="[S]" --text="Return the number of"
"""

import json
import re
from pathlib import Path

from absl import flags

from saccade.decode.batches import TRANSLATED
from saccade.train.process.given import CHECKPOINTS, refuse_given, require_content
from saccade.train.process.main import run_main
from saccade.train.process.output import require_file
from saccade.types import UserError

WORKDIR = flags.DEFINE_string('workdir', None, "The run's folder.")
INIT_FROM = flags.DEFINE_string('init_from', None, 'In its place: a Hugging Face directory, or a run.')
START = flags.DEFINE_string('start', None, 'Of a Hugging Face directory: the special token that begins a translation.')
MODE = flags.DEFINE_string('mode', None, 'Special token before each text, of a model of several modes: "[S]".')
CHECKPOINT = flags.DEFINE_enum('checkpoint', 'latest', CHECKPOINTS, 'Which checkpoint, or the mean of the last.')
TEXT = flags.DEFINE_string('text', None, 'What is to be translated.')
FILE = flags.DEFINE_string('file', None, 'In its place: a file, a text a line, plain or .gz.')
BEAMS = flags.DEFINE_integer('beams', 0, 'Beams of the search; 1 is greedy, 0 as the run was evaluated.', 0, 1000)
ALPHA = flags.DEFINE_float('alpha', 0.6, 'Exponent of the length penalty of --beams.', 0.0)
BATCH = flags.DEFINE_integer('batch', TRANSLATED, 'Lines that are translated at once; 1 answers each as it comes.', 1)
ALIGNMENT = flags.DEFINE_string('alignment', None, 'File (.png, .svg, .pdf, .html): where the model looked at --text.')
LAYER = flags.DEFINE_integer('layer', -1, 'Whose alignment, of the layers that look at the source; -1 is the last.')
HEAD = flags.DEFINE_integer('head', 0, 'Which head of it, from 1; 0 for their mean.')
JSON = flags.DEFINE_bool('json', False, 'Print one JSON object a text.')


def main(overrides: list[str]) -> None:
    """Print the translation of each text, and save an alignment where --alignment is given.

    Raises:
        UserError: overrides are given, a text is empty, a flag has no effect, or --alignment has no --text or cannot
            be written.
    """
    from saccade.decode.translator import texts_of
    from saccade.train.translating import Asked, open_translator

    if overrides:
        raise UserError(f"'{overrides[0]}': a model translates with the config it was trained with")
    require_content(TEXT, FILE)
    if BEAMS.value < 2:
        refuse_given('with fewer than two --beams', ALPHA)
    if not ALIGNMENT.value:
        refuse_given('without --alignment', LAYER, HEAD)
    if ALIGNMENT.value:
        from saccade.analysis.inspect.alignment import Aligner
        from saccade.analysis.inspect.alignment_picture import require_ending, save

        require_ending(Path(ALIGNMENT.value))
        require_file('alignment', ALIGNMENT.value)
    if ALIGNMENT.value and TEXT.value is None:
        raise UserError('--alignment is of one text; give it with --text')
    texts, rows = texts_of(TEXT.value, FILE.value), BATCH.value if TEXT.value is None else 1
    asked = Asked(WORKDIR.value, INIT_FROM.value, CHECKPOINT.value, BEAMS.value, ALPHA.value, START.value, rows)
    translator = open_translator(asked)
    if MODE.value is not None:
        translator = translator.in_mode(MODE.value)
    for found in translator.translate(texts):
        record = {'source': found.source, 'text': found.text}
        if ALIGNMENT.value:
            seen = Aligner.of(translator, LAYER.value, HEAD.value).align(found.source_ids, found.ids)
            save(seen, Path(ALIGNMENT.value))
            record['alignment'] = seen.record()
        print(json.dumps(record) if JSON.value else ' '.join(re.split('[\r\n]+', found.text)), flush=True)


if __name__ == '__main__':
    run_main(main)
