# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Token classification data: sentences with a tag for each word, such as named entities or parts of speech.

The first piece of a word has the word's tag; its other pieces, special tokens and padding have none (Devlin et al.
2019, "BERT", section 5.3, https://arxiv.org/abs/1810.04805). A sentence that is too long for a row is cut into
overlapping windows, and each word has its tag in only one of them: the one in which it is further from a cut.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from saccade.data.cache import each, groups, spec
from saccade.data.corpus.record_files import FileRecords, read_records
from saccade.data.corpus.records import Records, RecordSource
from saccade.data.dataset_base import Arrays, BySplit
from saccade.data.encoder.names import Names
from saccade.data.encoder.record_base import FromRecords
from saccade.data.rows.frame import Frame
from saccade.data.rows.ragged import Ragged, smallest, windows
from saccade.data.split import Row, Split
from saccade.data.tokenizer.tokenizer import UNKNOWN, Tokenizer
from saccade.types import IGNORED, Part, UserError

__all__ = ['Tagged']

_UNKNOWN = (UNKNOWN, '<unk>')

Words = Sequence[str]


@dataclass(frozen=True, eq=False)
class TaggedRows:
    """Rows of sentences, built lazily.

    Attributes:
        tokens, labels: tokens and labels of each row; a label is IGNORED where a token has none.
        owned: [rows, 2], the range within the row whose labels belong to it.
        example: [rows], index of the sentence.
    """

    frame: Frame
    tokens: Ragged
    labels: Ragged
    owned: np.ndarray
    example: np.ndarray

    @classmethod
    def of(cls, frame: Frame, tokens: Ragged, labels: Ragged, overlap: int) -> 'TaggedRows':
        """Cut sentences into windows, and divide each overlap between its two windows."""
        example, spans = windows(tokens.lengths, frame.room(), overlap)
        half = overlap // 2
        begins, ends = spans[:, 0] == 0, spans[:, 1] == tokens.lengths[example]
        lengths = spans[:, 1] - spans[:, 0]
        owned = np.stack([np.where(begins, 0, half), np.where(ends, lengths, lengths - overlap + half)], axis=-1)
        return cls(frame, tokens.cut(example, spans), labels.cut(example, spans), owned, example)

    def __len__(self) -> int:
        return len(self.example)

    def __getitem__(self, row: int) -> Row:
        start, stop = self.owned[row]
        labels = np.array(self.labels[row])
        labels[:start] = labels[stop:] = IGNORED
        said = {'labels': self.frame.scattered(IGNORED, labels), 'example': np.int32(self.example[row])}
        return self.frame.row(self.tokens[row]) | said

    def padding(self) -> Row:
        """Return a row of padding."""
        return blank(self.frame)


@dataclass(frozen=True, eq=False, kw_only=True)
class TaggedSplit(Split):
    """Split of tagged sentences.

    Attributes:
    names: names of the tags.
    labels: labels of each sentence, by token.
    words: words of each sentence, if it is untagged.
    """

    rows: TaggedRows
    names: tuple[str, ...]
    labels: Ragged
    words: Sequence[Words] = ()

    @classmethod
    def of(cls, arrays: Arrays, frame: Frame, overlap: int, unit: str) -> 'TaggedSplit':
        """Build a split from `tokens`, `labels`, the `lengths` of sentences in both, and the `names` of the labels."""
        tokens, labels = (Ragged.of(arrays[name], arrays['lengths']) for name in ('tokens', 'labels'))
        rows = TaggedRows.of(frame, tokens, labels, overlap)
        targets = int(np.count_nonzero(labels.values != IGNORED))
        return cls(rows=rows, names=tuple(arrays['names'].tolist()), labels=labels, targets=targets, unit=unit)

    def sentences(self) -> list[np.ndarray]:
        """Return the tag indices of each sentence, by word."""
        return [labels[labels != IGNORED] for labels in self.labels]


@dataclass(frozen=True, kw_only=True)
class Tagged(FromRecords):
    """Sentences of words, with a tag for each word.

    Attributes:
        classes: number of tags (C).
        names: of the tags, in the order of their numbers; None for the sorted names in the training split.
        tokens: column of the words.
        tags: column of their tags.
        check: validates the tags of a sentence, given its place for messages, as `metric.entity:require_bio`.
    """

    classes: int
    names: tuple[str, ...] | None = None
    tokens: str = 'tokens'
    tags: str = 'tags'
    check: Part | None = None

    @property
    def inputs(self) -> dict[str, str]:
        """Column of the words, which are a list, or a text with spaces between them."""
        return {'text': self.tokens}

    @property
    def example(self) -> dict[str, str]:
        """Sample text for each input, for the example commands that a run prints."""
        return {'text': 'Ada Lovelace lived in London .'}

    def read(self, path: Path) -> FileRecords:
        """Read a file of sentences; tags are optional except in CoNLL columns."""
        return read_records(path, (self.tokens,))

    def unanswered(self, records: RecordSource, names: tuple[str, ...], tokenizer: Tokenizer) -> TaggedSplit:
        """Return the rows of untagged sentences, with the first tag name as a placeholder.

        Raises:
            UserError: a sentence is neither text nor a list of words, or the tokenizer cannot encode a character.
        """
        sentences = [words_of(records[index][self.tokens], records.place(index)) for index in range(len(records))]
        tagged = [(words, len(words) * names[:1]) for words in sentences]
        arrays = _labelled(tagged, Names(names), records.place, tokenizer)
        return replace(self._split(arrays, self.frame(tokenizer)), words=sentences)

    @property
    def _columns(self) -> tuple[str, ...]:
        return (self.tokens,)

    @property
    def _answers(self) -> tuple[str, ...]:
        return (self.tags,)

    @property
    def _key(self) -> Any:
        return 'tags', self.tokens, self.tags, self.classes, spec(self.check), *(self.names or ())

    def _texts(self, examples: RecordSource) -> Iterator[str]:
        return (' '.join(words) for words, _ in self._sentences(examples))

    def _arrays(self, source: Records, tokenizer: Tokenizer) -> BySplit:
        sentences = {split: list(self._sentences(records)) for split, records in source.splits.items()}
        tags = itertools.chain.from_iterable(tags for _, tags in sentences['train'])
        names = Names.of(tags, self.classes, self.names)
        return {
            split: _labelled(found, names, source.splits[split].place, tokenizer) for split, found in sentences.items()
        }

    def _split(self, arrays: Arrays, frame: Frame) -> TaggedSplit:
        return TaggedSplit.of(arrays, frame, self.overlap, unit='words')

    def _padding(self, frame: Frame) -> Row:
        return blank(frame)

    def _sentences(self, records: RecordSource) -> Iterator[tuple[Words, Words]]:
        for index in range(len(records)):
            words, tags = (
                _strings(records[index][column], column, records.place(index)) for column in (self.tokens, self.tags)
            )
            if len(words) != len(tags):
                raise UserError(f'{records.place(index)}: there are {len(words)} words but {len(tags)} tags')
            if self.check is not None:
                self.check(tags, records.place(index))
            yield words, tags


def blank(frame: Frame) -> Row:
    """Return a row of padding."""
    return frame.padding() | {'labels': frame.scattered(IGNORED, []), 'example': np.int32(-1)}


def words_of(given: Any, place: str) -> list[str]:
    """Return the words of a sentence, given as a list or as a text with spaces between them.

    Raises:
        UserError: it is neither.
    """
    return given.split() if isinstance(given, str) else list(_strings(given, 'text', place))


def aligned(sentences: Sequence[Words], tokenizer: Tokenizer) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Tokenise sentences, with one space between words; yield the pieces of each, and the word index of each piece.

    Each word has at least one piece: the unknown token, if the tokenizer drops it.
    """
    for group in groups(each(sentences), lambda words: sum(map(len, words))):
        texts = [' '.join(words) for words in group]
        for words, (ids, places) in zip(group, tokenizer.encode_places(texts), strict=True):
            # A piece belongs to the word in which it ends; a space is the start of the next word.
            stops = np.cumsum([len(word) + 1 for word in words]) - 1
            numbers = np.searchsorted(stops, [stop - 1 for _, stop in places], side='right')
            pieces, absent = np.array(ids, np.int64), np.setdiff1d(np.arange(len(words)), numbers)
            if len(absent):
                at = np.searchsorted(numbers, absent)
                pieces = np.insert(pieces, at, tokenizer.special(*_UNKNOWN, role='unk_token'))
                numbers = np.insert(numbers, at, absent)
            yield pieces, numbers


def _labelled(
    sentences: Sequence[tuple[Words, Words]], names: Names, place: Callable[[int], str], tokenizer: Tokenizer
) -> Arrays:
    """Return the pieces of all sentences, their labels, the pieces per sentence, and the names of the labels."""
    tokens, labels = [np.zeros(0, int)], [np.zeros(0, int)]
    pieces = aligned([words for words, _ in sentences], tokenizer)
    for index, ((_, tags), (ids, words)) in enumerate(zip(sentences, pieces, strict=True)):
        numbers = names.numbers(tags, partial(_tag_place, place(index)))
        tokens.append(ids)
        labels.append(np.where(np.diff(words, prepend=-1) > 0, numbers[words], IGNORED))
    return {
        'tokens': np.concatenate(tokens).astype(smallest(tokenizer.size)),
        'labels': np.concatenate(labels).astype(np.int32),
        'lengths': np.array([len(ids) for ids in tokens[1:]], np.int64),
        'names': np.array(names.known),
    }


def _tag_place(sentence: str, index: int) -> str:
    return f'{sentence}: tag {index + 1}'


def _strings(value: Any, column: str, place: str) -> Words:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise UserError(f"{place}: '{column}' is not a list of strings, but {value!r}")
    return value
