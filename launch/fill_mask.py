# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Fill in the [MASK]s of a text with a masked language model.

Several turns are mask-predict. A denoising model, such as T5, fills each mask with any number of tokens.

python launch/fill_mask.py --workdir=runs/bert --text="The [MASK] argument must be a [MASK]."
python launch/fill_mask.py --workdir=runs/bert --text="Return [MASK] [MASK] [MASK] [MASK]." --turns=4
python launch/fill_mask.py --workdir=runs/ul2 --mode="[R]" --text="The [MASK] argument must be [MASK]."
"""

import json
from dataclasses import asdict

from absl import flags

from saccade.train.process.given import DTYPES, refuse_given, require_content
from saccade.train.process.main import run_main
from saccade.types import UserError

WORKDIR = flags.DEFINE_string('workdir', None, "The run's folder.")
INIT_FROM = flags.DEFINE_string('init_from', None, 'A run, a Hugging Face directory or hf:ORG/NAME; or --workdir.')
DTYPE = flags.DEFINE_enum('dtype', 'float32', DTYPES, 'Type of the parameters and of the computation.')
TEXT = flags.DEFINE_string('text', None, 'Text with [MASK] for each gap.')
PART = flags.DEFINE_string('part', '', 'Model of the run, if it trained several together.')
MODE = flags.DEFINE_string(
    'mode', None, 'Special token before the text, for a denoising model with several modes: "[R]".'
)
TOP = flags.DEFINE_integer('top', 5, 'Number of candidates to show per mask.', 1)
TURNS = flags.DEFINE_integer('turns', 1, 'Turns of mask-predict; 1 fills all masks independently.', 1)
JSON = flags.DEFINE_bool('json', False, 'Print one JSON object.')


def main(overrides: list[str]) -> None:
    """Print a text with its [MASK]s filled in.

    Raises:
        UserError: overrides are given, --text is missing or empty, or a flag has no effect on this model.
    """
    from saccade.decode.fill import Filler
    from saccade.train.trained import open_trained
    from saccade.train.translating import open_gap_filler
    from saccade.types import Seq2Seq

    if overrides:
        raise UserError(f"'{overrides[0]}': a model fills masks with its training config")
    if TEXT.value is None:
        raise UserError('give --text="...", with [MASK] for each gap')
    require_content(TEXT)
    trained = open_trained(WORKDIR.value, INIT_FROM.value, dtype=DTYPE.value).only(PART.value)
    if isinstance(trained.model, Seq2Seq):
        refuse_given('on a sequence-to-sequence model', TOP, TURNS)
        found = open_gap_filler(trained, MODE.value).fill(TEXT.value)
        print(json.dumps(asdict(found)) if JSON.value else found.text)
        return
    filler = Filler(trained.model, trained.params, trained.tokenizer)
    refuse_given('on a masked language model', MODE)
    choices, turns = filler.fill(TEXT.value, TOP.value), list(filler.turns(TEXT.value, TURNS.value))
    if JSON.value:
        print(json.dumps({'text': TEXT.value, 'turns': turns, 'masks': [asdict(each) for each in choices]}))
        return
    for number, each in enumerate(choices, 1):
        shown = ', '.join(f'{token} {share:.3f}' for token, share in each.pairs())
        print(f'mask {number}   {shown}')
    print('\n'.join(turns))


if __name__ == '__main__':
    run_main(main)
