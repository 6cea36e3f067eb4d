# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Search by a run: its trained model as a sentence encoder, and the folder of a corpus's index."""

import hashlib
import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import jax
import numpy as np

from saccade.decode.batches import ENCODED
from saccade.decode.search import Index, SearchCorpus, SentenceEncoder, open_index, sentence_vectors
from saccade.paths import expanded
from saccade.train.trained import Trained, open_trained
from saccade.types import UserError


@dataclass(frozen=True)
class SearchOptions:
    """Options of a search.

    Attributes:
        workdir, init_from: a run, or a Hugging Face directory in its place.
        which: checkpoint of a run.
        part: name of one of several models of a run.
        index: folder of the index; None for one in the folder of the run.
        rows: texts in a batch.
        dtype: of the parameters.
    """

    workdir: str | None
    init_from: str | None
    which: str
    part: str
    index: str | None
    rows: int
    dtype: str


def open_search(asked: SearchOptions, corpus: SearchCorpus) -> tuple[SentenceEncoder, Index]:
    """Open a run, and the index of a corpus, which is made if it is missing or belongs to something else.

    Raises:
        UserError: there is no model, it gives no vectors, or the index cannot be stored.
    """
    if not (asked.index or asked.workdir):
        raise UserError('give --index=FOLDER: no index is stored in a Hugging Face directory')
    trained = open_trained(asked.workdir, asked.init_from, asked.which, asked.dtype).only(asked.part)
    encoder = sentence_encoder(trained, asked.rows)
    default = Path(asked.workdir or '') / 'search' / f'{corpus.path.name}{asked.part and f".{asked.part}"}'
    folder = expanded(asked.index) if asked.index else default
    return encoder, open_index(folder, corpus, encoder.encode, model_digest(trained))


def sentence_encoder(trained: Trained, rows: int = ENCODED) -> SentenceEncoder:
    """Return the encoder of texts of a trained model: its head for sentences, the pooling of its folder, or a mean.

    Args:
        rows: texts in a batch.

    Raises:
        UserError: the model reads no texts by itself.
    """
    settings = trained.sentence
    read = partial(sentence_vectors, pool=settings.pool, unit=settings.unit)
    return SentenceEncoder(trained.model, trained.params, trained.tokenizer, rows, read, settings.length)


def model_digest(trained: Trained) -> str:
    """Return a digest that changes with the weights of a model, its architecture, its tokenizer and its settings."""
    asked = trained.sentence
    sentence = [asked.pool.__name__, asked.length, asked.unit] if asked.pool else []
    settings = [trained.config['model'], trained.tokenizer.digest, *sentence]
    found = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    for leaf in jax.tree.leaves(trained.params):
        found.update(np.asarray(leaf).tobytes())
    return found.hexdigest()
