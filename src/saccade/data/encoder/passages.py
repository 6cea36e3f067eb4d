# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Pretraining text for encoders: rows of one passage, or of two that may belong together.

Documents are cut into sentences, after full stops and at empty lines, and tokenised sentence by sentence into one
memory-mapped stream; a row has one or two spans of it.
"""

import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from saccade.data.cache import GrowingArray, spec, write_arrays
from saccade.data.corpus.corpus import Corpus, open_corpus
from saccade.data.corpus.document import PART, parts_of
from saccade.data.dataset_base import BySplit
from saccade.data.encoder.pairing import Pairing
from saccade.data.rows.frame import MASK, Frame
from saccade.data.rows.ragged import smallest
from saccade.data.split import Row, Split, batch_of
from saccade.data.tokenized_base import TokenizedBase
from saccade.data.tokenizer.tokenizer import Tokenizer
from saccade.data.tokenizer.trainer import Trainer
from saccade.types import IGNORED, Count, HeldOut, Metric, Part, UserError, declares, fraction

__all__ = ['Passages', 'unigram_nats']

_SENTENCE_END = re.compile(r'(?<=[.!?])(?=\s)|(?=\n\s*\n)')  # white space stays before the next sentence


@dataclass(frozen=True)
class Passages(TokenizedBase):
    """Rows of passages for pretraining encoders.

    Attributes:
    tokenizer: trainer of the tokenizer, with BERT's special tokens, as `data.tokenizer.word_piece:WordPiece`.
    context_length: number of tokens per row.
    pairing: conversion of sentences to rows, as `data.encoder.pairing:NextSentence`.
    name: a known corpus.
    path: the user's text, which overrides a named corpus.
    column: field with the text, of files of rows, as JSON lines, CSV and Parquet.
    validation: fraction of documents for validation, if the corpus has no such split.
    divide: regular expression of the separator between documents of one file, as '\\n\\n' between paragraphs;
        empty if a document of the corpus is one document.
    copies: number of times that a document is made into training rows, with different pairs.
    """

    tokenizer: Part[Trainer]
    context_length: Count
    pairing: Part[Pairing]
    name: str | None = None
    path: str | None = None
    column: str = 'text'
    validation: HeldOut = 0.1
    divide: str = ''
    copies: Count = 1

    def __post_init__(self) -> None:
        self._usual()

    def batch_like(self, batch_size: int) -> dict[str, jax.ShapeDtypeStruct]:
        """Return the shapes of a batch, which do not depend on data."""
        return batch_of(_padding(self._usual()), batch_size)

    @property
    def _key(self) -> Any:
        return 'passages', spec(self.pairing), self.context_length, self.divide, self.copies

    def _open(self, cache: Path) -> Corpus:
        return open_corpus(None if self.path else self.name, self.path, cache, self.validation, self.column)

    def _texts(self, examples: Sequence[Any]) -> Iterator[str]:
        return (part.text for part in parts_of(examples))

    def _fitting(self, frame: Frame) -> Frame:
        if frame.room(self.pairing().texts) < 2:
            raise UserError(
                f'data.context_length: {self.context_length} tokens leave no room for text between the special tokens'
            )
        return frame

    def _write(self, source: Corpus, tokenizer: Tokenizer, folder: Path) -> None:
        """Write the token stream of each split, which may exceed memory, then the spans of its rows."""
        room = self.frame(tokenizer).room(self.pairing().texts)
        for number, (name, documents) in enumerate(source.splits.items()):
            into = folder / name
            into.mkdir()
            sentences = _write_stream(self._sentences(documents), tokenizer, into)
            write_arrays(into, {'pairs': self._paired(number, name, sentences, room)})

    def _paired(self, number: int, name: str, documents: Sequence[np.ndarray], room: int) -> np.ndarray:
        draws = [np.random.default_rng([number, copy]) for copy in range(self.copies if name == 'train' else 1)]
        spans = array('q')
        for draw in draws:
            for pair in self.pairing().pairs(documents, room, draw):
                spans.extend((*pair.first, *pair.second, pair.label))
        if not spans:
            raise UserError(f'data: the {name} split has no document of two tokens, so there are no targets')
        return np.array(spans).reshape(len(spans) // 5, 5)

    def _splits(self, arrays: BySplit, source: Corpus, frame: Frame, tokenizer: Tokenizer) -> dict[str, Split]:
        given = dict(frame=frame, mask=tokenizer.special(*MASK, role='mask_token'), texts=self.pairing().texts)
        return {
            name: Split(rows=PassageRows(**found, **given), targets=len(found['pairs']), unit='rows')
            for name, found in arrays.items()
        }

    def _sentences(self, documents: Sequence[Any]) -> Iterator[tuple[list[str], bool]]:
        """Yield sentences, and True if their document ends after them; a corpus is read part by part."""
        rest = ''
        for part in parts_of(documents):
            *whole, begun = self._divided(rest + part.text)
            yield from ((_SENTENCE_END.split(text), True) for text in whole)
            *sentences, rest = _SENTENCE_END.split(begun)
            if part.last or len(rest) > PART:  # it is a sentence, or no sentence ends for long
                sentences, rest = [*sentences, rest], ''
            yield sentences, part.last

    def _divided(self, text: str) -> list[str]:
        """Split a text into documents by the regular expression."""
        try:
            return re.split(self.divide, text) if self.divide else [text]
        except re.error as error:
            raise UserError(f'data.divide: {self.divide!r} is not a regular expression: {error}') from None


@dataclass(frozen=True, eq=False)
class _Sentences(Sequence[np.ndarray]):
    """Sentences of documents in the stream: [sentences, 2] for each document, start and stop.

    Attributes:
        bounds: [1 + sentences], start of the first sentence and stop of each.
        firsts: [1 + documents], number of the first sentence of each document, and of all sentences.
    """

    bounds: np.ndarray
    firsts: np.ndarray

    def __len__(self) -> int:
        return len(self.firsts) - 1

    def __getitem__(self, number: int) -> np.ndarray:
        bounds = self.bounds[self.firsts[number] : self.firsts[number + 1] + 1]
        return np.stack([bounds[:-1], bounds[1:]], axis=-1)


def _write_stream(texts: Iterable[tuple[list[str], bool]], tokenizer: Tokenizer, folder: Path) -> _Sentences:
    """Write the tokens, and for each token if it begins a word; return the sentences of documents that have any."""
    bounds, firsts = array('q', [0]), array('q', [0])
    with (
        GrowingArray(folder / 'tokens.npy', np.dtype(smallest(tokenizer.size))) as tokens,
        GrowingArray(folder / 'begins.npy', np.dtype(bool)) as begins,
    ):
        for sentences, last in texts:
            for ids, first in tokenizer.words([sentence for sentence in sentences if sentence.strip()]):
                if ids:
                    tokens.append(ids)
                    begins.append(first)
                    bounds.append(tokens.length)
            if last and len(bounds) - 1 > firsts[-1]:
                firsts.append(len(bounds) - 1)
    return _Sentences(np.array(bounds), np.array(firsts))


@dataclass(frozen=True, eq=False)
class PassageRows:
    """Rows of spans of a token stream."""

    tokens: np.ndarray
    begins: np.ndarray
    pairs: np.ndarray
    frame: Frame
    mask: int
    texts: int

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, row: int) -> Row:
        spans = list(self.spans(row))
        begins = [np.array(self.begins[span], np.int32) for span in spans]
        for text in begins:
            text[:1] = 1  # the first token of a text begins a word, wherever the text was cut
        words = np.cumsum(np.concatenate(begins))
        apart = np.split(words, [spans[0].stop - spans[0].start]) if len(spans) > 1 else [words]
        return {
            **self.frame.row(*(self.tokens[span] for span in spans)),
            'words': self.frame.scattered(0, *apart),
            'mask': np.int32(self.mask),
            'row': np.int32(row),
            'label': np.int32(self.pairs[row, 4]),
        }

    def padding(self) -> Row:
        """Return a row of padding."""
        return _padding(self.frame)

    def spans(self, row: int) -> Iterator[slice]:
        """Return the slices of a row's texts in the stream."""
        numbers = self.pairs[row].tolist()
        return (slice(*numbers[2 * text : 2 * text + 2]) for text in range(self.texts))


@declares(
    *(Metric(f'{name}_loss', 'lowest', 0.0, unit='nats') for name in ('masked', 'pair')),
    *(fraction(f'{name}_accuracy') for name in ('pair', 'length')),
)
def unigram_nats(train: Split, validation: Split, vocabulary: int, /) -> dict[str, float]:
    """Return metrics of a baseline that knows how frequent each token is in training, and each label of a pair.

    Tokens unseen in training count as seen once. `length_accuracy` is the accuracy of a baseline that also knows the
    more frequent label for each length of the second text: it is near `pair_accuracy` if lengths carry no information.
    """
    metrics = {'masked_loss': _surprise(train.rows.tokens, validation.rows.tokens, vocabulary)}
    if train.rows.texts == 1:
        return metrics
    # For each pair, the length of the second text in tokens, and the label.
    (known, labels), (asked, answers) = (
        (pairs[:, 3] - pairs[:, 2], pairs[:, 4]) for pairs in (train.rows.pairs, validation.rows.pairs)
    )
    counts = np.zeros((max(known.max(), asked.max()) + 1, 2))
    np.add.at(counts, (known, labels), 1)
    return {
        **metrics,
        'pair_loss': _surprise(labels, answers, 2),
        'pair_accuracy': float((answers == counts.sum(axis=0).argmax()).mean()),
        'length_accuracy': float((answers == counts[asked].argmax(axis=-1)).mean()),
    }


def _surprise(known: np.ndarray, asked: np.ndarray, classes: int) -> float:
    """Return the mean of -log p [nats] of `asked` under the frequencies in `known`."""
    counts = np.maximum(np.bincount(known, minlength=classes), 1)
    return float(-np.log(counts / counts.sum())[asked].mean())


def _padding(frame: Frame) -> dict[str, Any]:
    row = frame.padding()
    numbers = {'mask': np.int32(0), 'row': np.int32(0), 'label': np.int32(IGNORED)}
    return {**row, 'words': np.zeros(frame.context_length, np.int32), **numbers}
