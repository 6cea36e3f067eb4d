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
from saccade.train.process.given import CHECKPOINTS, DTYPES, refuse_given, require_content
from saccade.train.process.main import run_main
from saccade.train.process.output import require_file
from saccade.types import UserError

WORKDIR = flags.DEFINE_string('workdir', None, "The run's folder.")
INIT_FROM = flags.DEFINE_string('init_from', None, 'A run, a Hugging Face directory or hf:ORG/NAME; or --workdir.')
DTYPE = flags.DEFINE_enum('dtype', 'float32', DTYPES, 'Type of the parameters and of the computation.')
START = flags.DEFINE_string('start', None, 'Special token that starts a target, for a Hugging Face directory.')
MODE = flags.DEFINE_string('mode', None, 'Special token before each text, for a model with several modes: "[S]".')
CHECKPOINT = flags.DEFINE_enum('checkpoint', 'latest', CHECKPOINTS, 'Checkpoint, or the mean of the last checkpoints.')
TEXT = flags.DEFINE_string('text', None, 'A source text.')
FILE = flags.DEFINE_string('file', None, 'File with one text per line, plain or .gz, instead of --text.')
BEAMS = flags.DEFINE_integer('beams', 0, 'Beams of beam search; 1 is greedy, 0 uses the setting of the run.', 0, 1000)
ALPHA = flags.DEFINE_float('alpha', 0.6, 'Exponent of the length penalty of --beams.', 0.0)
BATCH = flags.DEFINE_integer('batch', TRANSLATED, 'Batch size; 1 answers each line as it comes.', 1)
ALIGNMENT = flags.DEFINE_string(
    'alignment', None, 'File (.html, .pdf, .png, .svg, .npz) for the cross-attention of --text.'
)
LAYER = flags.DEFINE_integer('layer', -1, 'Cross-attention layer to draw, from 0; -1 is the last.')
HEAD = flags.DEFINE_integer('head', -1, 'Head of the layer, from 0; -1 for the mean over heads.')
REPLACE_UNKNOWN = flags.DEFINE_bool(
    'replace_unknown', False, 'Write the source word of the highest cross-attention for each unknown token.'
)
JSON = flags.DEFINE_bool('json', False, 'Print one JSON object per text.')


def main(overrides: list[str]) -> None:
    """Print the translation of each text, and save its cross-attention if --alignment is given.

    Raises:
        UserError: overrides are given, a text is empty, a flag has no effect, or --alignment has no --text or cannot
            be written.
    """
    from saccade.decode.translator import texts_of
    from saccade.train.translating import TranslationOptions, open_translator

    if overrides:
        raise UserError(f"'{overrides[0]}': a model translates with its training config")
    require_content(TEXT, FILE)
    if BEAMS.value < 2:
        refuse_given('with fewer than two --beams', ALPHA)
    if not (ALIGNMENT.value or REPLACE_UNKNOWN.value):
        refuse_given('without --alignment or --replace_unknown', LAYER, HEAD)
    if ALIGNMENT.value:
        from saccade.inside.maps import require_ending

        require_ending(Path(ALIGNMENT.value))
        require_file('alignment', ALIGNMENT.value)
    if ALIGNMENT.value and TEXT.value is None:
        raise UserError('--alignment draws one text; give it with --text')
    texts, rows = texts_of(TEXT.value, FILE.value), BATCH.value if TEXT.value is None else 1
    options = TranslationOptions(
        WORKDIR.value, INIT_FROM.value, CHECKPOINT.value, BEAMS.value, ALPHA.value, START.value, rows, DTYPE.value
    )
    translator = open_translator(options)
    if MODE.value is not None:
        translator = translator.in_mode(MODE.value)
    if ALIGNMENT.value or REPLACE_UNKNOWN.value:
        from saccade.inside.alignment import Aligner

        aligner = Aligner.of(translator, LAYER.value, HEAD.value)
    for found in translator.translate(texts):
        text = aligner.replace_unknown(found) if REPLACE_UNKNOWN.value else found.text
        record = {'source': found.source, 'text': text}
        if ALIGNMENT.value:
            seen = aligner.align(found.source_ids, found.ids)
            title = f'{found.source} \N{RIGHTWARDS ARROW} {found.text}'
            seen.save(Path(ALIGNMENT.value), title, WORKDIR.value or INIT_FROM.value, translator.step)
            record['alignment'] = seen.record()
        print(json.dumps(record) if JSON.value else ' '.join(re.split('[\r\n]+', text)), flush=True)


if __name__ == '__main__':
    run_main(main)
