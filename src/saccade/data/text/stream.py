# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Language-modelling text: a tokenizer and, for each split, rows over a memory-mapped stream of tokens.

With an end token, the stream begins with it, and each document is followed by it. A document extends from the end token
before it to the one after it, so its first token is a target too, and a model with only the end token as its prompt
begins a document. If the tokenizer's folder puts a token before each text, as Llama's does, a document begins with that
token instead of the preceding end token.
"""

import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import jax
import numpy as np

from saccade.data.cache import GrowingArray, groups, read_arrays, spec, write_arrays
from saccade.data.corpus.corpus import Corpus, open_corpus
from saccade.data.corpus.document import Excerpt, parts_of
from saccade.data.dataset_base import Arrays, BySplit
from saccade.data.rows.pack import Pack, Rows
from saccade.data.rows.ragged import smallest
from saccade.data.split import PERPLEXITY, Split
from saccade.data.tokenized_base import TokenizedBase
from saccade.data.tokenizer.tokenizer import Tokenizer
from saccade.data.tokenizer.trainer import Trainer
from saccade.types import Count, HeldOut, Metric, Part, UserError

__all__ = ['TextData']


@dataclass(frozen=True, eq=False, kw_only=True)
class TextSplit(Split):
    """Split of a text.

    Attributes:
        targets: number of distinct target tokens; overlapping windows count each token once.
        bytes: UTF-8 bytes of the text.
        tokens: number of tokens in the stream, including end tokens.
        documents: number of documents with at least one token.
    """

    rows: Rows
    bytes: int
    tokens: int
    documents: int

    reports: ClassVar[tuple[Metric, ...]] = (PERPLEXITY, Metric('bits_per_byte', 'lowest', 0.0, unit='bits'))

    @property
    def streams(self) -> tuple[Rows, ...]:
        """The rows of each stream of tokens: of the only one, or of each source of a mixture."""
        return (self.rows,)

    def derived(self, metrics: Mapping[str, float]) -> dict[str, float]:
        """Return perplexity, and bits per byte of the text."""
        loss = metrics['loss']
        return {'perplexity': math.exp(min(loss, 700.0)), 'bits_per_byte': bits_per_byte(loss, self)}


@dataclass(frozen=True)
class TextBase(TokenizedBase):
    """Base of text for language models.

    Attributes:
        tokenizer: trainer of the tokenizer, as `data.tokenizer.bpe:BPE`.
        context_length: number of tokens in the model's context; a row has one more.
        pack: packing of documents into rows, as `data.rows.pack:Packed`.
        validation: fraction of documents for validation, if the corpus has no such split.
    """

    tokenizer: Part[Trainer]
    context_length: Count
    pack: Part[Pack]
    validation: HeldOut = field(default=0.1, kw_only=True)

    reports: ClassVar[tuple[Metric, ...]] = TextSplit.reports

    def batch_like(self, batch_size: int) -> dict[str, jax.ShapeDtypeStruct]:
        """Return the shapes of a batch, which do not depend on data."""
        shape = jax.ShapeDtypeStruct((batch_size, self.context_length + 1), np.int32)
        return dict.fromkeys(('tokens', 'segments', 'positions'), shape)

    def frame(self, tokenizer: Tokenizer) -> Any:
        """Return None: text needs no special tokens."""

    @property
    def _key(self) -> Any:
        return 'text', spec(self.pack), self.context_length

    def _texts(self, examples: Sequence[Any]) -> Iterator[str]:
        return (part.text for part in parts_of(examples))


@dataclass(frozen=True)
class TextData(TextBase):
    """Text for language models.

    Attributes: tokenizer, context_length, pack and validation as in TextBase.
        name: a known corpus.
        path: the user's text, which overrides a named corpus.
        column: field with the text, of files of rows, as JSON lines, CSV and Parquet.
    """

    name: str | None = None
    path: str | None = None
    column: str = 'text'

    def _open(self, cache: Path) -> Corpus:
        return open_corpus(None if self.path else self.name, self.path, cache, self.validation, self.column)

    def _write(self, source: Corpus, tokenizer: Tokenizer, folder: Path) -> None:
        """Write the token stream of each split, which may exceed memory, then the arrays derived from it."""
        for name, documents in source.splits.items():
            into = folder / name
            into.mkdir()
            bounds, size = _write_stream(documents, tokenizer, into / 'tokens.npy')
            tokens = int(bounds[-1, 1]) if len(bounds) else 0
            self._check_length(name, tokens, int(np.diff(bounds).max(initial=0)))
            write_arrays(into, self.pack().index(bounds, self.context_length, name == 'train'))
            targets = int((self._rows(read_arrays(into)).pieces()[1] - 1).sum())
            write_arrays(into, {'counts': np.array([targets, size, tokens, len(bounds)])})

    def _check_length(self, name: str, tokens: int, longest: int) -> None:
        least = self.context_length + 1 if name == 'train' else 2
        if tokens < least:
            raise UserError(
                f'data: the {name} split has {tokens} tokens, but a context of {self.context_length} needs at least '
                f'{least}; give more text or a smaller context'
            )
        if longest < 2:
            raise UserError(f'data: no document of the {name} split has two tokens, so there are no targets')

    def _splits(self, arrays: BySplit, source: Corpus, frame: Any, tokenizer: Tokenizer) -> dict[str, Split]:
        splits = {}
        for name, found in arrays.items():
            targets, size, tokens, documents = found['counts'].tolist()
            rows = self._rows(found)
            splits[name] = TextSplit(rows=rows, targets=targets, bytes=size, tokens=tokens, documents=documents)
        return splits

    def _rows(self, arrays: Arrays) -> Rows:
        return self.pack().rows(arrays['tokens'], arrays, self.context_length)


def bits_per_byte(nats_per_token: float, split: TextSplit) -> float:
    """Convert the mean loss of a split's targets [nats] into bits per byte of its text.

    Raises:
        UserError: the split has no text.
    """
    if not split.bytes:
        raise UserError('bits per byte: the split has no text')
    return nats_per_token / math.log(2) * split.targets / split.bytes


def _write_stream(documents: Sequence[Any], tokenizer: Tokenizer, path: Path) -> tuple[np.ndarray, int]:
    """Write the token stream; return the start and stop of each document in it, and the bytes of text."""
    dtype = np.dtype(smallest(tokenizer.size))
    end = [] if tokenizer.end is None else [tokenizer.end]
    begin = list(tokenizer.around.before) if tokenizer.around else []
    lengths, size, length = array('q'), 0, 0
    with GrowingArray(path, dtype) as stream:
        stream.append([] if begin else end)
        for group in groups(parts_of(documents), lambda part: len(part.text)):
            for part, ids in zip(group, _encoded(group, tokenizer), strict=True):
                size += len(part.text.encode())
                before, length = [] if length else begin, length + len(ids)
                if ids:
                    stream.append([*before, *ids])
                if part.last and length:
                    stream.append(end)
                    lengths.append(length)
                    length = 0
    taken = np.array(lengths, np.int64) + len(begin) + len(end)  # tokens of each document and those around it
    starts = np.cumsum(taken) - taken
    return np.stack([starts, starts + taken + (0 if begin else len(end))], axis=-1), size


def _encoded(group: Sequence[Excerpt], tokenizer: Tokenizer) -> list[list[int]]:
    try:
        return tokenizer.encode_batch([part.text for part in group])
    except UserError:
        for part in group:
            try:
                tokenizer.encode(part.text)
            except UserError as error:
                raise UserError(f'document {part.id}: {error}') from error
        raise
