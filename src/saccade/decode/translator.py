# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Translation of texts by a sequence-to-sequence model with its tokenizer."""

import io
import itertools
import logging
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np

from saccade.build import refused
from saccade.data.corpus.files import content_of, lines_of
from saccade.data.rows.pair_frame import PairFrame
from saccade.data.tokenizer.tokenizer import Tokenizer
from saccade.decode.batches import TRANSLATED
from saccade.decode.greedy import Greedy
from saccade.types import DecodingSearch, Model, Params, Part, PRNGKey, Seq2Seq, UserError

__all__ = ['Translated']

_LOG = logging.getLogger(__name__)
_GREEDY = Part(Greedy)


@dataclass(frozen=True)
class Rendering:
    """Source text and its translation, each with its token ids."""

    source: str
    text: str
    source_ids: list[int]
    ids: list[int]


@dataclass(frozen=True, eq=False)
class Translator:
    """Translation of texts by a sequence-to-sequence model and its tokenizer.

    Attributes:
        frame: layout of texts in the rows of training.
        search: search that generates targets.
        rows: number of texts per batch.
        step: training step of the parameters; None without a run.

    Raises:
        UserError: the model reads no source; the message names its use.
    """

    model: Model  # checked to be a Seq2Seq
    params: Params
    tokenizer: Tokenizer
    frame: PairFrame
    search: DecodingSearch
    rows: int = TRANSLATED
    step: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.model, Seq2Seq):
            raise UserError(refused(Part(type(self.model)), Seq2Seq))

    def translate(self, texts: Iterable[str]) -> Iterator[Rendering]:
        """Translate texts in order, each as soon as its batch is done.

        Raises:
            UserError: a text is too long, or the tokenizer cannot encode it; the message has its number, from 1.
        """
        numbered = enumerate(texts, start=1)
        while some := list(itertools.islice(numbered, self.rows)):
            sources = [self.encoded(number, text) for number, text in some]
            for (_, source), read, new in zip(some, sources, self.write(sources), strict=True):
                yield Rendering(source, self.tokenizer.decode(new), read, new)

    def in_mode(self, mode: str | None) -> 'Translator':
        """Return the translator with a mode's special token before each source, as in training; None for none.

        Raises:
            UserError: the tokenizer lacks the token.
        """
        return replace(self, frame=self.frame.in_mode(self.tokenizer, mode))

    def write(self, sources: list[list[int]]) -> list[list[int]]:
        """Return the target tokens generated for at most `rows` sources."""
        written = jax.device_get(_written(self.search, self.model, self.params, self.batch(sources)))
        found = zip(sources, written.tokens, written.counts, strict=False)
        return [ids[:count].tolist() for _, ids, count in found]

    def batch(self, sources: list[list[int]]) -> dict[str, np.ndarray]:
        """Return the batch of these sources, padded to `rows`; an empty source has no translation."""
        filled = [*sources, *(self.rows - len(sources)) * [[]]]
        rows = [self.frame.row(ids) if ids else self.frame.padding() for ids in filled]
        return {name: np.stack([row[name] for row in rows]) for name in rows[0]}

    def encoded(self, number: int, text: str) -> list[int]:
        """Return the token ids of a text.

        Raises:
            UserError: as for `translate`.
        """
        try:
            ids = self.tokenizer.source.encode(text)
        except UserError as error:
            raise UserError(f'text {number}: {error}') from error
        unknown = sum(token in self.tokenizer.source.unknown for token in ids)
        if unknown:
            _LOG.warning('text %d: %d of %d tokens are unknown to the tokenizer', number, unknown, len(ids))
        if len(ids) > self.frame.room[0]:
            raise UserError(
                f'text {number}: it has {len(ids)} tokens, and the model reads at most {self.frame.room[0]}; '
                'split it into sentences'
            )
        return ids


def texts_of(text: str | None, file: str | None) -> Iterator[str]:
    """Yield a text; or the lines of a file, plain or .gz; or the lines of standard input.

    Raises:
        UserError: both are given, or a file or standard input cannot be read.
    """
    if text is not None and file:
        raise UserError('give --text=TEXT or --file=FILE, or neither to read standard input')
    if text is not None:
        return iter([text])
    if file:
        return lines_of(io.BytesIO(content_of(Path(file))), file)
    return lines_of(sys.stdin.buffer, 'standard input')


@partial(jax.jit, static_argnums=(0, 1))
def _written(search: Any, model: Any, params: Params, batch: dict[str, Any]) -> Any:
    return search(model, params, batch)


@dataclass(frozen=True)
class Translated:
    """Translation sample, which a run logs at each evaluation.

    Attributes:
        text: source text.
        search: search that generates the target.
        start: special token at the start of a target, as in the data.
        mode: special token of a mode before the source.
    """

    text: str
    search: Part[DecodingSearch] = _GREEDY
    start: str | None = None
    mode: str | None = None

    def require(self, model: Model, tokenizer: Tokenizer) -> None:
        """Check that the model can translate the text.

        Raises:
            UserError: the model reads no source, the tokenizer lacks a special token, or as for `Translator.translate`.
        """
        self._translator(model, {}, tokenizer).encoded(1, self.text)

    def __call__(self, model: Seq2Seq, params: Params, tokenizer: Tokenizer, key: PRNGKey) -> str:
        """Return the text and its translation."""
        (rendering,) = self._translator(model, params, tokenizer).translate([self.text])
        return f'{rendering.source}  =>  {rendering.text}'

    def _translator(self, model: Model, params: Params, tokenizer: Tokenizer) -> Translator:
        if not isinstance(model, Seq2Seq):
            raise UserError(refused(Part(type(model)), Seq2Seq))
        frame = PairFrame.of(tokenizer, model.source_context_length, model.context_length, self.start)
        return Translator(model, params, tokenizer, frame, self.search(), rows=1).in_mode(self.mode)
