# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Semantic search: each text of a corpus is encoded once, and a query is compared with all vectors.

    score(query, text) = u · v,  the cosine for vectors of norm 1

Reimers and Gurevych 2019, "Sentence-BERT", https://arxiv.org/abs/1908.10084: for n texts, a bi-encoder reads n texts, a
cross-encoder n² pairs. The vectors are in a memory-mapped file, so a corpus may be larger than memory. The search is
exhaustive and exact; cost: N D per query. Texts longer than the context are cut.
"""

import hashlib
import json
import logging
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float

from saccade.data.cache import DIGESTS, cached
from saccade.data.corpus.files import content_of, decoded
from saccade.data.tokenizer.tokenizer import Tokenizer
from saccade.decode.batches import ENCODED
from saccade.decode.embed import FINAL, TextLayout, final_states
from saccade.model.stack import STATES, layer_states
from saccade.ops.pool import mean
from saccade.ops.similarity import normalised
from saccade.paths import read_text
from saccade.progress import counted
from saccade.types import LayerContext, Model, Params, Part, UserError

_LOG = logging.getLogger(__name__)
_FORMAT = 1  # version of the index; increase it when its files change
_GROUP = 4096  # texts that are tokenised and sorted by length together
_BLOCK = 1 << 16  # vectors of a corpus whose scores are in memory at once
_FACTS, _VECTORS = 'index.json', 'vectors.npy'
_FILES = (_FACTS, _VECTORS, DIGESTS)
_CHANGED = {
    'format': 'was written by another version',
    'corpus': 'is of another corpus, or the corpus has changed since',
    'model': 'is of another model, or the model has learned since',
}

Vectors = Float[np.ndarray, '_ D']


class SearchResult(NamedTuple):
    """Search result. Attributes: number, index of the text in the corpus, from 0; score, larger for a closer text."""

    number: int
    score: float


def has_sentence_head(model: Any) -> bool:
    """Return True if a model has a head 'pooled' without classes."""
    pooled = dict(getattr(model, 'heads', ())).get('pooled')
    return pooled is not None and pooled['classes'] is None


def sentence_vectors(
    model: Any, params: Params, batch: dict[str, Array], pool: Callable[..., Array] | None = None, unit: bool = True
) -> Float[Array, 'B D']:
    """Return a vector for each row.

    Args:
        pool: of the last hidden states over the tokens, after the final norm; None for the head 'pooled' if it has no
            classes, else the mean of the last layer.
        unit: whether vectors that are pooled so have norm 1; others always have.
    """
    context = LayerContext(batch['positions'], batch['segments'], types=batch['types'])
    outputs, reported = model.apply({'params': params}, batch['tokens'], context, False, mutable=(*STATES, FINAL))
    if pool is not None:
        pooled = pool(final_states(reported), batch['segments'] != 0)
        return normalised(pooled) if unit else pooled
    if has_sentence_head(model):
        return normalised(outputs['pooled'])
    return normalised(mean(layer_states(reported)[-1], batch['segments'] != 0))


@dataclass(frozen=True, eq=False)
class SentenceEncoder:
    """Sentence encoder: vectors of texts from a trained model.

    Attributes:
        rows: number of texts per batch.
        read: function of the model, its parameters and a batch of rows [B T]; returns an array [B ...].
        length: tokens of a text at most, with special ones; None for the context of the model.

    Raises:
        UserError: the model has no layers that read a text.
    """

    model: Model
    params: Params
    tokenizer: Tokenizer
    rows: int = ENCODED
    read: Callable[[Any, Params, dict[str, Array]], Float[Array, 'B ...']] = sentence_vectors
    length: int | None = None

    def __post_init__(self) -> None:
        if not hasattr(self.model, 'layers'):
            raise UserError(
                f'{Part(type(self.model)).name} computes no vector of a text; an encoder or a decoder is needed, as '
                'trained by experiments/pairs/sentence_bert.py'
            )

    @property
    def room(self) -> int:
        """Maximum number of tokens of a text; the rest is cut off."""
        layout, context = TextLayout.of(self.model, self.tokenizer), self.model.context_length
        cut = context - min(context, self.length or context)
        return max(layout.room - len(layout.begins) - len(layout.ends) - cut, 0)

    def encode(self, texts: Sequence[str]) -> Float[np.ndarray, '_ ...']:
        """Return the vectors of texts, in order; with the default of `read`, of norm 1.

        Raises:
            UserError: the tokenizer cannot encode a character of a text.
        """
        layout = TextLayout.of(self.model, self.tokenizer)
        room, texts = self.room, self.tokenizer.encode_batch(texts)
        ids = [[*layout.begins, *found[:room], *layout.ends] for found in texts]
        # Batch texts of similar length, to reduce padding.
        order = sorted(range(len(ids)), key=lambda number: len(ids[number]))
        vectors: list[np.ndarray] = [np.zeros(0)] * len(ids)
        for start in range(0, len(order), self.rows):
            some = order[start : start + self.rows]
            for number, vector in zip(some, self._vectors([layout.row(ids[number]) for number in some]), strict=False):
                vectors[number] = vector
        return np.stack(vectors)

    def _vectors(self, rows: list[dict[str, np.ndarray]]) -> np.ndarray:
        """Return the vectors of at most `rows` rows, padded to a full batch; the vectors of the padding included."""
        used = max(int((row['segments'] > 0).sum()) for row in rows)
        # Pad to a power of two, or to the context, so that few widths are compiled.
        width = min(self.model.context_length, 1 << max(used - 1, 0).bit_length())
        filled = [*rows, *(self.rows - len(rows)) * rows[-1:]]
        batch = {name: np.stack([row[name][:width] for row in filled]) for name in rows[0]}
        return np.asarray(_compiled(self.read, self.model, self.params, batch), np.float32)


@partial(jax.jit, static_argnums=(0, 1))
def _compiled(read: Callable[..., Array], model: Any, params: Params, batch: dict[str, Array]) -> Float[Array, 'B ...']:
    return read(model, params, batch)


@dataclass(frozen=True, eq=False)
class SearchCorpus:
    """Corpus to search: the non-empty lines of a file.

    Attributes:
        lines: line numbers of the texts in the file, from 1.
        digest: hash of the file.
    """

    path: Path
    texts: list[str]
    lines: list[int]
    digest: str

    @classmethod
    def read(cls, path: Path) -> 'SearchCorpus':
        """Read a file, plain or .gz.

        Raises:
            UserError: the file cannot be read, or has no text.
        """
        content = content_of(path)
        lines = enumerate(decoded(content, path).split('\n'), start=1)
        found = [(number, line.strip()) for number, line in lines if line.strip()]
        if not found:
            raise UserError(f'{path}: has no text to search; one text per line is expected')
        return cls(
            path, [line for _, line in found], [number for number, _ in found], hashlib.sha256(content).hexdigest()
        )


@dataclass(frozen=True, eq=False)
class Index:
    """Index of a corpus: the unit vectors of its texts, in order."""

    vectors: Vectors

    def nearest(self, queries: Vectors, count: int) -> list[list[SearchResult]]:
        """Return the texts with the largest scores for each query, best first; ties in corpus order."""
        best: list[list[SearchResult]] = [[] for _ in queries]
        for start in range(0, len(self.vectors), _BLOCK):
            scores = np.einsum('AD,BD->AB', queries, self.vectors[start : start + _BLOCK], optimize=True)
            for number, row in enumerate(scores):
                best[number] = sorted([*best[number], *_largest(row, count, start)], key=lambda one: -one.score)[:count]
        return best


def _largest(scores: Float[np.ndarray, '_'], count: int, start: int) -> list[SearchResult]:
    """Return the largest scores of a block that starts at text `start`, including all ties with the last of them."""
    least = -np.inf if len(scores) <= count else np.partition(scores, -count)[-count]
    return [SearchResult(start + int(at), float(scores[at])) for at in np.flatnonzero(scores >= least)]


def open_index(folder: Path, corpus: SearchCorpus, encode: Callable[[Sequence[str]], Vectors], model: str) -> Index:
    """Open the index in a folder. Build it if it is missing; rebuild it, with a warning, if it does not fit.

    Args:
        encode: computes the vectors of texts.
        model: digest that changes with the model.

    Raises:
        UserError: the folder holds something other than an index, or cannot be written.
    """
    facts = {'format': _FORMAT, 'corpus': corpus.digest, 'model': model}
    _clear(folder, facts)

    def make(new: Path) -> None:
        count = len(corpus.texts)
        groups = [corpus.texts[start : start + _GROUP] for start in range(0, count, _GROUP)]
        vectors = None
        for number, group in enumerate(counted(groups, 'encoding', len(groups), f'times {_GROUP} texts')):
            found = encode(group)
            if vectors is None:
                vectors = np.lib.format.open_memmap(new / _VECTORS, 'w+', np.float32, (count, found.shape[-1]))
            vectors[number * _GROUP : number * _GROUP + len(group)] = found
        vectors.flush()
        (new / _FACTS).write_text(json.dumps(facts) + '\n')

    try:
        cached(folder, make)
        return Index(np.load(folder / _VECTORS, mmap_mode='r'))
    except OSError as error:
        raise UserError(
            f'{folder}: the index cannot be written or read ({error}); --index names another folder'
        ) from error


def _clear(folder: Path, facts: Mapping[str, Any]) -> None:
    """Remove an index of another corpus or model, with a warning. A damaged index is left for `kept` to replace.

    Raises:
        UserError: the folder holds something other than an index.
    """
    if not folder.exists():
        return
    others = [folder] if not folder.is_dir() else [each for each in folder.iterdir() if each.name not in _FILES]
    if others:
        raise UserError(f'--index={folder}: is not an index (it holds {others[0].name}); name a new folder')
    try:
        written = dict(json.loads(read_text(folder / _FACTS)))
    except (OSError, ValueError, TypeError):
        return
    changed = [name for name, value in facts.items() if written.get(name) != value]
    if changed:
        _LOG.warning('%s: %s; it is rebuilt', folder, ' and '.join(_CHANGED[name] for name in changed))
        shutil.rmtree(folder, ignore_errors=True)


def labelled_pairs(path: Path, corpus: SearchCorpus) -> tuple[list[str], list[list[int]]]:
    """Read queries with their relevant texts: lines of a query, a tab, and the text or its line number.

    Returns:
        The queries, and for each the indices of its text in the corpus, from 0: of all lines that are equal.

    Raises:
        UserError: a line has another form, or its text is not in the corpus.
    """
    by_text: dict[str, list[int]] = {}
    for number, text in enumerate(corpus.texts):
        by_text.setdefault(text, []).append(number)
    by_line = {str(line): by_text[text] for line, text in zip(corpus.lines, corpus.texts, strict=True)}
    queries, right = [], []
    for line, text in enumerate(decoded(content_of(path), path).split('\n'), start=1):
        if not text.strip():
            continue
        query, tab, wanted = text.partition('\t')
        numbers = by_text.get(wanted.strip(), by_line.get(wanted.strip()))
        if not tab:
            raise UserError(f'{path}, line {line}: has no tab between a query and the right text or its line number')
        if numbers is None:
            raise UserError(f'{path}, line {line}: {wanted.strip()!r} is no text and no line number of {corpus.path}')
        queries.append(query.strip())
        right.append(numbers)
    if not queries:
        raise UserError(f'{path}: holds no pairs')
    return queries, right
