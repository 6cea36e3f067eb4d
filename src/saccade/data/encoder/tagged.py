# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Token classification data: sentences whose words have a tag each, as names or parts of speech.

The first piece of a word has the word's tag; its other pieces, special tokens and padding have none (Devlin et al.
2019, "BERT", section 5.3, https://arxiv.org/abs/1810.04805). A sentence that is too long for a row is cut into windows
that overlap, and each word has its tag in one of them alone: the one where it is further from a cut.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from saccade.data.cache import groups, spec
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
    """Rows of sentences, made lazily.

    Attributes:
        tokens, labels: what stands in each row; a label is IGNORED where a token has none.
        owned: [rows, 2], from and to within these, whose labels no other row has.
        example: [rows], the number of the sentence.
    """

    frame: Frame
    tokens: Ragged
    labels: Ragged
    owned: np.ndarray
    example: np.ndarray

    @classmethod
    def of(cls, frame: Frame, tokens: Ragged, labels: Ragged, overlap: int) -> 'TaggedRows':
        """Cut sentences into windows, and what two of them have in common into halves."""
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
        said = {'labels': self.frame.beside(IGNORED, labels), 'example': np.int32(self.example[row])}
        return self.frame.row(self.tokens[row]) | said

    def padding(self) -> Row:
        """A row of which nothing counts."""
        return blank(self.frame)


@dataclass(frozen=True, eq=False, kw_only=True)
class TaggedSplit(Split):
    """Split of tagged sentences.

    Attributes:
    names: of the tags.
    labels: of each sentence, by token.
    words: of each sentence, where its tags are not known.
    """

    rows: TaggedRows
    names: tuple[str, ...]
    labels: Ragged
    words: Sequence[Words] = ()

    @classmethod
    def of(cls, arrays: Arrays, frame: Frame, overlap: int, unit: str) -> 'TaggedSplit':
        """Make a split of `tokens`, `labels`, the `lengths` of sentences in both, and the `names` of the labels."""
        tokens, labels = (Ragged.of(arrays[name], arrays['lengths']) for name in ('tokens', 'labels'))
        rows = TaggedRows.of(frame, tokens, labels, overlap)
        targets = int(np.count_nonzero(labels.values != IGNORED))
        return cls(rows=rows, names=tuple(arrays['names'].tolist()), labels=labels, targets=targets, unit=unit)

    def sentences(self) -> list[np.ndarray]:
        """The numbers of the tags of each sentence, by word."""
        return [labels[labels != IGNORED] for labels in self.labels]


@dataclass(frozen=True, kw_only=True)
class Tagged(FromRecords):
    """Sentences of words, and a tag for each word.

    Attributes:
        classes: C, how many tags there are. They are numbered by their names in the training split, sorted.
        tokens, tags: the columns of the words and of their tags.
        check: refuses tags that are none, given those of a sentence and its place, as `metric.entity:require_bio`.
    """

    classes: int
    tokens: str = 'tokens'
    tags: str = 'tags'
    check: Part | None = None

    @property
    def inputs(self) -> dict[str, str]:
        """The column of the words, which are a list, or a text with spaces between them."""
        return {'text': self.tokens}

    @property
    def example(self) -> dict[str, str]:
        """A sample text for each input, as the commands that a run prints need one."""
        return {'text': 'Ada Lovelace lived in London .'}

    def read(self, path: Path) -> FileRecords:
        """Read a file of sentences, which need have no tags unless it is of CoNLL columns."""
        return read_records(path, (self.tokens,))

    def unanswered(self, records: RecordSource, names: tuple[str, ...], tokenizer: Tokenizer) -> TaggedSplit:
        """Return the rows of sentences whose tags are not known, those of the first name in their place.

        Raises:
            UserError: a sentence is no text and no list of words, or the tokenizer lacks one of its characters.
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
        return 'tags', self.tokens, self.tags, self.classes, spec(self.check)

    def _texts(self, examples: RecordSource) -> Iterator[str]:
        return (' '.join(words) for words, _ in self._sentences(examples))

    def _arrays(self, source: Records, tokenizer: Tokenizer) -> BySplit:
        sentences = {split: list(self._sentences(records)) for split, records in source.splits.items()}
        names = Names.of(itertools.chain.from_iterable(tags for _, tags in sentences['train']), self.classes)
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
    """A row of which nothing counts."""
    return frame.padding() | {'labels': frame.beside(IGNORED), 'example': np.int32(-1)}


def words_of(given: Any, place: str) -> list[str]:
    """Return the words of a sentence, which is a list of them or a text with spaces between them.

    Raises:
        UserError: it is neither.
    """
    return given.split() if isinstance(given, str) else list(_strings(given, 'text', place))


def aligned(sentences: Sequence[Words], tokenizer: Tokenizer) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Tokenise sentences, one space between words: the pieces of each, and the number of the word that each is of.

    Each word has a piece: the unknown token, where the tokenizer leaves nothing of it.
    """
    for group in groups(sentences, lambda words: sum(map(len, words))):
        texts = [' '.join(words) for words in group]
        for words, (ids, places) in zip(group, tokenizer.encode_places(texts), strict=True):
            # A piece is of the word in which it ends; a space is the beginning of the word after it.
            stops = np.cumsum([len(word) + 1 for word in words]) - 1
            numbers = np.searchsorted(stops, [stop - 1 for _, stop in places], side='right')
            pieces, absent = np.array(ids, np.int64), np.setdiff1d(np.arange(len(words)), numbers)
            if len(absent):
                at = np.searchsorted(numbers, absent)
                pieces = np.insert(pieces, at, tokenizer.special(*_UNKNOWN))
                numbers = np.insert(numbers, at, absent)
            yield pieces, numbers


def _labelled(
    sentences: Sequence[tuple[Words, Words]], names: Names, place: Callable[[int], str], tokenizer: Tokenizer
) -> Arrays:
    """Return the pieces of all sentences, their labels, the pieces of each sentence, and the names of the labels."""
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
        raise UserError(f"{place}: '{column}' is no list of strings, but {value!r}")
    return value
