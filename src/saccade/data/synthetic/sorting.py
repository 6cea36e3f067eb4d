# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sorting as token classification: the label at position n is the n-th smallest number of the sequence.

Each label depends on all numbers, so the task requires attention. The sequences are generated, not downloaded, and none
of the validation split is in the training split.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import jax
import numpy as np

from saccade.data.cache import digest
from saccade.data.corpus.record_files import FileRecords, read_records
from saccade.data.corpus.records import RecordSource
from saccade.data.dataset_base import Arrays, BySplit, DatasetSource
from saccade.data.encoder.tagged import TaggedSplit, blank, words_of
from saccade.data.rows.frame import Frame
from saccade.data.split import Split, batch_of
from saccade.data.tokenized_base import TokenizedBase
from saccade.data.tokenizer.tokenizer import BERT, Tokenizer
from saccade.data.tokenizer.trainer import Trainer
from saccade.data.tokenizer.word import Word
from saccade.types import Count, Part, UserError

__all__ = ['Sorting']


@dataclass(frozen=True, kw_only=True)
class Sorting(TokenizedBase):
    """Sorting: the label at position n is the n-th smallest number.

    Attributes:
    context_length: number of tokens per row, at least two more than there are numbers.
    length: number of numbers in a sequence.
    highest: exclusive upper bound of the numbers, which start at 0.
    train, validation: number of sequences per split.
    """

    context_length: Count
    length: Count
    highest: Count
    train: Count = 100_000
    validation: Count = 1_000

    _key: ClassVar[str] = 'sorting'

    def __post_init__(self) -> None:
        self._usual()

    def batch_like(self, batch_size: int) -> dict[str, jax.ShapeDtypeStruct]:
        """Return the shapes of a batch, which do not depend on data."""
        return batch_of(blank(self._usual()), batch_size)

    @property
    def tokenizer(self) -> Part[Trainer]:
        """Trainer of a tokenizer with one word per number."""
        return Part(Word).replace(vocabulary=self.highest + len(BERT), end=None, specials=BERT)

    @property
    def inputs(self) -> dict[str, str]:
        """Column of the numbers, which are separated by spaces."""
        return {'text': 'numbers'}

    @property
    def example(self) -> dict[str, str]:
        """Sample text for each input, for the example commands that a run prints."""
        return {'text': ' '.join(str(-place % self.highest) for place in range(self.length))}

    def read(self, path: Path) -> FileRecords:
        """Read sequences to sort from a file, one per line."""
        return read_records(path, ('numbers',))

    def unanswered(self, records: RecordSource, names: tuple[str, ...], tokenizer: Tokenizer) -> TaggedSplit:
        """Return the rows of sequences; their labels only mark the positions to predict.

        Raises:
            UserError: a sequence has another length than in training, or an unknown number.
        """
        known = {str(number) for number in range(self.highest)}
        sequences = [words_of(records[index]['numbers'], records.place(index)) for index in range(len(records))]
        for index, words in enumerate(sequences):
            if len(words) != self.length or not known.issuperset(words):
                raise UserError(
                    f'{records.place(index)}: a sequence must be {self.length} numbers from 0 to {self.highest - 1}, '
                    f'separated by spaces, not {" ".join(words)!r}'
                )
        numbers = np.array(sequences, np.int32)
        split = TaggedSplit.of(self._sequences(numbers, tokenizer), self.frame(tokenizer), overlap=0, unit='numbers')
        return replace(split, words=sequences)

    def _open(self, cache: Path) -> DatasetSource:
        validation = _drawn(0, self.validation, self.length, self.highest)
        held_out = {numbers.tobytes() for numbers in validation}
        train = _drawn(1, self.train, self.length, self.highest)
        train = train[[numbers.tobytes() not in held_out for numbers in train]]
        if not len(train):
            raise UserError('data: there are so few distinct sequences that validation leaves none for training')
        splits = {'train': train, 'validation': validation}
        return DatasetSource(splits, digest(self.length, self.highest, self.train, self.validation))

    def _texts(self, examples: np.ndarray) -> Iterator[str]:
        return map(str, range(self.highest))

    def _arrays(self, source: DatasetSource, tokenizer: Tokenizer) -> BySplit:
        return {split: self._sequences(numbers, tokenizer) for split, numbers in source.splits.items()}

    def _sequences(self, numbers: np.ndarray, tokenizer: Tokenizer) -> Arrays:
        names = list(map(str, range(self.highest)))
        ids = tokenizer.encode_batch(names)
        if len({tuple(each) for each in ids if len(each) == 1}) < self.highest:
            raise UserError(f'data: the tokenizer has no separate token for each number below {self.highest}')
        return {
            'tokens': np.array(ids).ravel()[numbers].ravel(),
            'labels': np.sort(numbers, axis=-1).ravel(),
            'lengths': np.full(len(numbers), self.length),
            'names': np.array(names),
        }

    def _splits(self, arrays: BySplit, source: DatasetSource, frame: Frame, tokenizer: Tokenizer) -> dict[str, Split]:
        return {name: TaggedSplit.of(found, frame, overlap=0, unit='numbers') for name, found in arrays.items()}

    def _fitting(self, frame: Frame) -> Frame:
        needed = self.length + self.context_length - frame.room()
        if needed > self.context_length:
            raise UserError(
                f'data.context_length: {self.length} numbers need {needed} tokens, not {self.context_length}'
            )
        return frame


def _drawn(seed: int, sequences: int, length: int, highest: int) -> np.ndarray:
    """Draw [sequences, length] numbers by Philox, whose raw output is equal in every release of NumPy."""
    drawn = np.random.Philox(key=seed).random_raw((sequences, length))
    return (drawn % np.uint64(highest)).astype(np.int32)
