# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Records for training and evaluation, from the user's files or from a TFDS dataset.

The records of a single file are split by a hash of each record, or of each protein's sequence. In a folder the files
are named after the splits, as in `named_splits`, one a split: train.csv and dev.csv, or with another ending of
`record_files`. A test.csv is a split that is used neither for training nor for choosing a checkpoint; without a file
for validation, records of train.csv are held out.
"""

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from saccade.data.cache import digest
from saccade.data.corpus.dataset import Picked, dataset_digest, pick, require_source
from saccade.data.corpus.document import held_out
from saccade.data.corpus.fasta import ENDINGS
from saccade.data.corpus.files import visible_files
from saccade.data.corpus.named_splits import named_splits
from saccade.data.corpus.record_files import (
    FORMATS,
    FileRecords,
    MissingColumnError,
    Record,
    format_of,
    read_records,
    require_columns,
)
from saccade.data.dataset_base import DatasetSource
from saccade.data.stratified import both_splits
from saccade.nearest import listed
from saccade.paths import expanded
from saccade.types import UserError

_FORMAT = 1  # part of a digest; increase it when the records read from a file change
_LOG = logging.getLogger(__name__)


@runtime_checkable
class RecordSource(Protocol):
    """Protocol of records with random access by index."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> Record: ...

    def place(self, index: int) -> str:
        """Return the place of a record, for messages."""
        ...


class Records(DatasetSource):
    """Records by split. Attributes: splits, each a RecordSource."""


@dataclass(frozen=True, eq=False)
class DatasetRecords(Sequence[Record]):
    """Records of a TFDS dataset, in JSON's types; a class is its name, or None if unknown."""

    name: str
    picked: Picked
    features: 'tensorflow_datasets.features.FeaturesDict'

    def __len__(self) -> int:
        return len(self.picked)

    def __getitem__(self, index: int) -> Record:
        return {name: _plain(self.features[name], value) for name, value in self.picked[index].items()}

    def place(self, index: int) -> str:
        """Return the place of a record, for messages."""
        return f'{self.name}, {self.picked.place(index)}'


def open_records(
    name: str | None,
    path: str | None,
    cache: Path,
    validation: float,
    columns: Sequence[str] = (),
    tests: bool = False,
    by: Sequence[str] = (),
) -> Records:
    """Open records; prepare them first if necessary.

    Args:
        name: 'docstrings' (pairs of texts from installed documentation), 'motifs' (generated proteins), or a TFDS
            dataset; or
        path: a file, a folder of files named after the splits, or the folder of a prepared TFDS dataset.
        cache: folder to prepare into.
        validation: fraction for validation, if there is no such split.
        columns: required columns. A .csv or .tsv whose columns are all requested by number has no header line.
        tests: open the test splits of a dataset with a validation split too; many have no answers.
        by: columns; records that are equal in these are in one split. Empty for all, or a protein's sequence.

    Raises:
        UserError: not exactly one of name and path is given, the records do not exist or cannot be read, or a column is
            missing.
    """
    require_source(name, path, validation)
    if name is not None:
        builder, versions = _open_named(name, Path(cache))
        return replace(_of_dataset(name, builder, validation, columns, tests), versions=versions)
    there = expanded(path)
    if (there / 'dataset_info.json').is_file():
        from saccade.data.corpus.prepare import opened

        return _of_dataset(there.name, opened(there), validation, columns, tests)
    if there.is_dir():
        return _of_folder(there, validation, columns, by)
    return held_apart(read_records(there, columns), validation, by)


def _open_named(name: str, cache: Path) -> tuple['tensorflow_datasets.core.DatasetBuilder', Mapping[str, str]]:
    """Open records by name, ours or TFDS's; also return the versions of their sources."""
    from saccade.data.corpus import pydocs
    from saccade.data.corpus.docstrings import Docstrings
    from saccade.data.corpus.motifs import Motifs
    from saccade.data.corpus.named import open_named
    from saccade.data.corpus.prepare import opened, prepare_own

    if name == Docstrings.name:
        made_from = pydocs.fingerprint(pydocs.installed_modules())
        return opened(prepare_own(Docstrings, cache / made_from[:16])), pydocs.versions()
    return opened(prepare_own(Motifs, cache)) if name == Motifs.name else open_named(name, cache), {}


def strings(records: RecordSource, column: str) -> Iterator[str]:
    """Yield the strings of a column, each read on demand.

    Raises:
        UserError: a value is not a string; the message has its place.
    """
    for index in range(len(records)):
        value = records[index][column]
        if not isinstance(value, str):
            raise UserError(f"{records.place(index)}: '{column}' is not text, but {value!r}")
        yield value


def _of_dataset(
    name: str,
    builder: 'tensorflow_datasets.core.DatasetBuilder',
    validation: float,
    columns: Sequence[str],
    tests: bool,
) -> Records:
    features = builder.info.features
    require_columns(name, columns, features)
    picked = pick(name, builder, validation, tests)
    splits = {split: DatasetRecords(name, examples, features) for split, examples in picked.items()}
    return Records(splits, dataset_digest(builder, [each.choice for each in picked.values()]))


def _of_folder(folder: Path, validation: float, columns: Sequence[str], by: Sequence[str]) -> Records:
    files = [file for file in visible_files(folder) if format_of(file)]
    named = {split: chosen for split, chosen in named_splits(folder, files, FORMATS).items() if chosen}
    if not named or any(len(chosen) > 1 for chosen in named.values()):
        there = listed([file.relative_to(folder).as_posix() for file in files]) or 'none'
        raise UserError(
            f'{folder}: exactly one file must be named train.*, and one validation.* (valid, val or dev) or test.*; '
            f'there are {there}; for records that are not split, give the path of one file'
        )
    splits = {split: read_records(file, columns) for split, (file,) in named.items() if split != 'test'}
    digests = {split: records.digest for split, records in splits.items()}
    if 'validation' not in splits:
        held = held_apart(splits['train'], validation, by)
        splits, digests = dict(held.splits), {'train': held.digest}
    if 'test' in named:
        try:
            splits['test'] = read_records(*named['test'], columns)
        except MissingColumnError as error:  # hidden answers, as in many competitions
            _LOG.warning('%s; so there is no test split', error)
        else:
            digests['test'] = splits['test'].digest
    return Records(splits, digest(_FORMAT, digests))


def held_apart(records: FileRecords, validation: float, by: Sequence[str] = ()) -> Records:
    """Split the records of a file by a hash of each record, or of its columns `by`, of a protein its sequence.

    Raises:
        UserError: there is only one distinct record.
    """
    by = by or (('sequence',) if format_of(records.path) in ENDINGS else ())
    told_by = ({name: record[name] for name in by or record} for record in records)
    ids = [json.dumps(each, sort_keys=True) for each in told_by]  # equal records are in one split
    chosen = held_out(set(ids), validation)
    if not chosen:
        which = f' by {", ".join(by)}' if by else ''
        raise UserError(f'{records.path}: has one record{which}; a validation split needs at least two')
    parts = both_splits([id in chosen for id in ids], validation)
    splits = {split: records.only(part.tolist()) for split, part in parts.items()}
    return Records(splits, digest(_FORMAT, records.digest, validation))


def _plain(feature: Any, value: Any) -> Any:
    import tensorflow_datasets as tfds

    inner = getattr(feature, 'feature', feature)  # of a sequence; TFDS turns a sequence of dicts into a dict of these
    if isinstance(value, Mapping):
        return {name: _plain(inner[name], item) for name, item in value.items()}
    if isinstance(value, list | np.ndarray) and getattr(value, 'ndim', 1):
        return [_plain(inner, item) for item in value]
    if isinstance(value, bytes):
        return value.decode(errors='replace')
    number = np.asarray(value).item()
    if isinstance(feature, tfds.features.ClassLabel):
        return feature.int2str(number) if number >= 0 else None
    return number


def resolved(records: FileRecords, column: str) -> FileRecords:
    """Return the records with paths of files that do not depend on the working directory.

    Raises:
        UserError: a path is not text.
    """
    paths = [str(records.path.parent / expanded(path)) for path in strings(records, column)]
    return replace(records, records=[{**record, column: path} for record, path in zip(records, paths, strict=True)])
