# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Embed texts, or a word in its contexts, with any layer of a model; find the nearest neighbours of a token.

python launch/embed.py --workdir=runs/bert --layer=-2 --word=dog --text="The dog barked." --text="He ate a hot dog."
python launch/embed.py --workdir=runs/bert --nearest=return
"""

import json

from absl import flags

from saccade.train.process.given import DTYPES, refuse_given, require_content
from saccade.train.process.main import run_main
from saccade.train.process.output import require_file
from saccade.types import UserError

WORKDIR = flags.DEFINE_string('workdir', None, "The run's folder.")
INIT_FROM = flags.DEFINE_string('init_from', None, 'A run, a Hugging Face directory or hf:ORG/NAME; or --workdir.')
DTYPE = flags.DEFINE_enum('dtype', 'float32', DTYPES, 'Type of the parameters and of the computation.')
PART = flags.DEFINE_string('part', '', 'Model of the run, if it trained several together.')
TEXT = flags.DEFINE_multi_string('text', [], 'A text; may be repeated.')
WORD = flags.DEFINE_string('word', None, 'Compare the occurrences of this word instead of whole texts.')
NEAREST = flags.DEFINE_string('nearest', None, 'Token whose nearest neighbours in the embedding table to print.')
COUNT = flags.DEFINE_integer('count', 10, 'Number of neighbours.', 1)
LAYER = flags.DEFINE_integer(
    'layer',
    None,
    'Output to take; 0 is the embedding, 1 the output of layers.0, -1 that of the last layer. Default: -1, or of a '
    'Hugging Face directory the last after the final norm.',
)
POOL = flags.DEFINE_enum(
    'pool',
    None,
    ['mean', 'first', 'last', 'maximum'],
    "Pooling of token vectors into the vector of a text; default: the mean, or a Hugging Face directory's.",
)
OVERLAP = flags.DEFINE_integer('overlap', None, 'Tokens shared by successive windows of a long text; default: half.')
JSON = flags.DEFINE_bool('json', False, 'Print one JSON object, including all vectors.')
OUT = flags.DEFINE_string('out', None, 'NumPy file for the compared vectors, one per row.')


def main(overrides: list[str]) -> None:
    """Print similarities of texts or of a word in its contexts, and the neighbours of a token.

    Raises:
        UserError: overrides are given, there is nothing to embed, a flag has no effect, or --out cannot be written.
    """
    from rich.console import Console

    from saccade.decode.embed import Embedder
    from saccade.inside.embedding import CosineComparison, Neighbours
    from saccade.ops import pool as pools
    from saccade.train.trained import open_trained

    if overrides:
        raise UserError(f"'{overrides[0]}': a model reads with its training config")
    if not TEXT.value and (WORD.value or OUT.value or not NEAREST.value):
        raise UserError('give --text="...", once or more; or only --nearest=TOKEN')
    require_content(TEXT, WORD, NEAREST)
    if not NEAREST.value:
        refuse_given('without --nearest', COUNT)
    if not TEXT.value:
        refuse_given('without --text', LAYER, POOL, OVERLAP)
    if WORD.value and not JSON.value:
        refuse_given('with --word', POOL)
    if OUT.value:
        require_file('out', OUT.value)
    trained = open_trained(WORKDIR.value, INIT_FROM.value, dtype=DTYPE.value).only(PART.value)
    layer = -1 if LAYER.value is None and trained.folder is None else LAYER.value
    embedder = Embedder(trained.model, trained.params, trained.tokenizer, layer, OVERLAP.value)
    found: list[CosineComparison | Neighbours] = []
    if TEXT.value:
        texts = [embedder.embed(text) for text in TEXT.value]
        asked = POOL.value or (WORD.value and 'mean')
        pool = getattr(pools, asked) if asked else trained.sentence.pool or pools.mean
        compared = CosineComparison.of(texts, pool, WORD.value)
        found.append(compared)
        if OUT.value:
            compared.save(OUT.value)
    if NEAREST.value:
        found.append(Neighbours(NEAREST.value, embedder.nearest(NEAREST.value, COUNT.value)))
    if JSON.value:
        print(json.dumps({name: figure for each in found for name, figure in each.record().items()}))
        return
    for each in found:
        each.table().show(Console())


if __name__ == '__main__':
    run_main(main)
