# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Semantic search in the lines of a file: a bi-encoder embeds the corpus once, and then each query.

python launch/search.py --workdir=runs/sbert --corpus=README.md --query="how to train a model" --top=3
python launch/search.py --workdir=runs/sbert --corpus=notes.txt --file=queries.txt --json
python launch/search.py --workdir=runs/sbert --corpus=answers.txt --pairs=labelled.tsv

Queries come from flags, or from the lines of a file or of standard input. The vectors of the corpus are cached in the
run's folder, or in --index, and recomputed when the corpus or the model changes. --pairs measures recall and mean
reciprocal rank; its lines have a query, a tab, and the relevant text or its line number.
"""

import itertools
import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from absl import flags

from saccade.decode.batches import ENCODED
from saccade.train.process.given import CHECKPOINTS, DTYPES, require_content
from saccade.train.process.main import run_main
from saccade.train.process.terminal import printable
from saccade.types import UserError

if TYPE_CHECKING:
    from saccade.decode.search import Index, SearchCorpus, SentenceEncoder

WORKDIR = flags.DEFINE_string('workdir', None, "The run's folder.")
INIT_FROM = flags.DEFINE_string('init_from', None, 'A run, a Hugging Face directory or hf:ORG/NAME; or --workdir.')
DTYPE = flags.DEFINE_enum('dtype', 'float32', DTYPES, 'Type of the parameters and of the computation.')
PART = flags.DEFINE_string('part', '', 'Model of the run, if it trained several together.')
CHECKPOINT = flags.DEFINE_enum('checkpoint', 'latest', CHECKPOINTS, 'Checkpoint, or the mean of the last checkpoints.')
CORPUS = flags.DEFINE_string('corpus', None, 'File to search, one text per line.')
INDEX = flags.DEFINE_string('index', None, "Folder for the vectors of the corpus; default: in the run's folder.")
QUERY = flags.DEFINE_multi_string('query', [], 'A query; may be repeated.')
FILE = flags.DEFINE_string('file', None, 'File with one query per line, instead of --query.')
PAIRS = flags.DEFINE_string('pairs', None, 'File of queries and relevant texts, to measure recall and MRR.')
TOP = flags.DEFINE_integer('top', 5, 'Number of texts to show per query.', 1)
BATCH = flags.DEFINE_integer('batch', ENCODED, 'Batch size.', 1)
JSON = flags.DEFINE_bool('json', False, 'Print one JSON object per query, or one with the metrics of --pairs.')


def main(overrides: list[str]) -> None:
    """Print the nearest texts of each query, or the retrieval metrics of --pairs.

    Raises:
        UserError: overrides are given, the corpus is missing, a query is empty, or several flags give queries.
    """
    from saccade.decode.search import SearchCorpus, labelled_pairs
    from saccade.decode.translator import texts_of
    from saccade.train.searching import SearchOptions, open_search

    if overrides:
        raise UserError(f"'{overrides[0]}': a model reads with its training config")
    if not CORPUS.value:
        raise UserError('give --corpus=FILE, with one text per line')
    if sum(map(bool, (QUERY.value, FILE.value, PAIRS.value))) > 1:
        raise UserError('give one of --query="...", --file and --pairs, or none to read standard input')
    require_content(QUERY, FILE, PAIRS)
    corpus = SearchCorpus.read(Path(CORPUS.value))
    pairs = labelled_pairs(Path(PAIRS.value), corpus) if PAIRS.value else None
    queries = None if pairs else QUERY.value or texts_of(None, FILE.value)
    options = SearchOptions(
        WORKDIR.value, INIT_FROM.value, CHECKPOINT.value, PART.value, INDEX.value, BATCH.value, DTYPE.value
    )
    encoder, index = open_search(options, corpus)
    if pairs:
        _measure(encoder, index, *pairs)
    else:
        _answer(encoder, index, corpus, queries)


def _answer(encoder: 'SentenceEncoder', index: 'Index', corpus: 'SearchCorpus', queries: Iterable[str]) -> None:
    queries = iter(queries)
    while some := list(itertools.islice(queries, BATCH.value)):
        for query, found in zip(some, index.nearest(encoder.encode(some), TOP.value), strict=True):
            texts = [
                {'score': score, 'line': corpus.lines[number], 'text': corpus.texts[number]} for number, score in found
            ]
            if JSON.value:
                print(json.dumps({'query': query, 'found': texts}), flush=True)
                continue
            lines = [query, *('  {score:z.3f}  line {line}: {text}'.format(**each) for each in texts)]
            print(printable('\n'.join(lines)), flush=True)


def _measure(encoder: 'SentenceEncoder', index: 'Index', queries: list[str], right: list[list[int]]) -> None:
    from saccade.metric.retrieval import RECALLS, ranks, retrieved

    found = ranks(encoder.encode(queries), index.vectors, right)
    metrics = retrieved(found, sorted({*RECALLS, TOP.value}))
    if JSON.value:
        values = {name: each.value for name, each in metrics.items()}
        intervals = {name: [each.low, each.high] for name, each in metrics.items()}
        print(json.dumps({'queries': len(queries), 'texts': len(index.vectors), **values, 'intervals': intervals}))
        return
    print(f'{len(queries)} queries, {len(index.vectors)} texts')
    for name, each in metrics.items():
        print(f'{name.replace("_", " "):14s}  {each.value:.4f} [{each.low:.4f}, {each.high:.4f}]')


if __name__ == '__main__':
    run_main(main)
