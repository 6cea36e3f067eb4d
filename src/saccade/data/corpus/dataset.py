# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Training, validation and test splits of a prepared TFDS dataset, from the splits it has."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from saccade.data.cache import digest
from saccade.data.stratified import both_splits
from saccade.types import UserError


@dataclass(frozen=True, eq=False)
class Picked(Sequence[Any]):
    """Selected examples of one split, read lazily.

    Attributes:
        source: examples by index.
        rows: indices of the selected examples.
        split: name of the split in the dataset.
    """

    source: Sequence[Mapping[str, Any]]
    rows: range | np.ndarray
    split: str

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> Any:
        row = int(self.rows[index])
        try:
            return self.source[row]
        except Exception as error:  # ArrayRecord raises several classes for damaged files
            raise UserError(f'{self.place(index)}: cannot be read ({error}); prepare the dataset again') from error

    @property
    def choice(self) -> tuple[str, int]:
        """Key of the selection: its size determines it, since the examples with the lowest draws are selected."""
        return self.split, len(self)

    def place(self, index: int) -> str:
        """Return the place of an example in the dataset, for messages."""
        return f'{self.split}[{int(self.rows[index])}]'


def require_source(name: str | None, path: str | None, validation: float) -> None:
    """Check that exactly one source is given, and that the validation fraction is above 0 and at most 1."""
    if (name is None) == (path is None):
        raise UserError("data: give either 'name', a known dataset, or 'path', your own files")
    if not 0 < validation <= 1:
        raise UserError(f'data.validation: {validation} is not a fraction between 0 and 1')


def pick(
    name: str, builder: 'tensorflow_datasets.core.DatasetBuilder', validation: float, tests: bool = False
) -> dict[str, Picked]:
    """Return the examples of 'train' and 'validation', and the test splits by name where they are asked for.

    A test split is used neither for training nor for choosing a checkpoint: a dataset that has no validation split
    gives a part of its training split, and its test splits too.

    Args:
        validation: fraction of the training examples for validation, if the dataset has no such split.
        tests: return the test splits of a dataset with a validation split too; many have no answers.

    Raises:
        UserError: there is no training split, there are too few examples to split, or there is no random access.
    """
    splits = {split: Picked(source, range(len(source)), split) for split, source in sources(name, builder).items()}
    if 'train' not in splits:
        raise UserError(f"{name}: has no split 'train'; it has {', '.join(splits) or 'none'}")
    tested = {split: found for split, found in splits.items() if split.startswith('test')}
    held_out = sorted(split for split in splits if split.startswith('validation'))  # MNLI's have suffixes
    if held_out:
        return {'train': splits['train'], 'validation': splits[held_out[0]], **(tested if tests else {})}
    # A hash of each example's index decides. Philox is one, and equal in every release of NumPy.
    train = splits['train']
    chosen = np.random.Philox(key=0).random_raw(len(train)) < validation * 2.0**64
    rows = {split: np.flatnonzero(part) for split, part in both_splits(chosen, validation).items()}
    for split, numbers in rows.items():
        if not len(numbers):
            raise UserError(f'{name}: {len(train)} examples leave none for {split}')
    return {split: replace(train, rows=numbers) for split, numbers in rows.items()} | tested


def sources(name: str, builder: 'tensorflow_datasets.core.DatasetBuilder') -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """Return the records of each split of a prepared dataset, for random access.

    Raises:
        UserError: its file format has no random access, or its files are damaged.
    """
    try:
        found = builder.as_data_source()
        for source in filter(len, found.values()):
            source[0]  # open the files
        return found
    except NotImplementedError as error:
        kept = builder.info.file_format.value
        raise UserError(
            f"{name}: is prepared as {kept}, without random access; prepare it with file_format='array_record'"
        ) from error
    except Exception as error:  # ArrayRecord raises several classes for missing or damaged files
        raise UserError(
            f'{builder.data_dir}: cannot be read as a prepared TFDS dataset ({error}); prepare it again'
        ) from error


def dataset_digest(builder: 'tensorflow_datasets.core.DatasetBuilder', *choices: Any) -> str:
    """Return a digest of a prepared dataset and of the selection from it."""
    splits = {key: [info.shard_lengths, info.num_bytes] for key, info in sorted(builder.info.splits.items())}
    return digest(builder.info.full_name, splits, choices)
