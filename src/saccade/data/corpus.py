# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Where text comes from: the embedded documentation, a TFDS dataset by name, or the user's own files.

Each is a TFDS dataset in ArrayRecord files, prepared once in a cache and read document by document.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow_datasets as tfds

from saccade.data import pydocs, text_files
from saccade.data.document import Document
from saccade.data.named import open_named
from saccade.data.prepare import prepare
from saccade.types import UserError


@dataclass(frozen=True, eq=False)
class Documents(Sequence[Document]):
    """Documents of one split, each read when it is asked for.

    Attributes:
        source: records by number.
        rows: the records that belong to the split.
        text: the field that is the text.
        split: name of the split in the dataset.
    """

    source: Sequence[Mapping[str, Any]]
    rows: range | np.ndarray
    text: str
    split: str

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> Document:
        row = int(self.rows[index])
        record = self.source[row]
        named = isinstance(record.get('id'), bytes)
        return Document(
            id=record['id'].decode(errors='replace') if named else f'{self.split}[{row}]',
            text=record[self.text].decode(errors='replace'),
        )


@dataclass(frozen=True, eq=False)
class Corpus:
    """Documents to learn from and to be judged by.

    Attributes:
        splits: 'train' and 'validation'.
        digest: changes whenever the text or its split does.
    """

    name: str
    splits: Mapping[str, Sequence[Document]]
    digest: str


def open_corpus(name: str | None, path: str | None, cache: Path, validation: float = 0.1) -> Corpus:
    """Open a corpus, and prepare it where that has not been done.

    Args:
        name: 'pydocs', or a TFDS dataset with text; or
        path: the user's own file or folder of files, or the folder of a prepared TFDS dataset.
        cache: folder to prepare into.
        validation: fraction of the text kept for validation, where the corpus has no split of its own.

    Raises:
        UserError: not exactly one of name and path is given, there is no such corpus, or it cannot be read.
    """
    if (name is None) == (path is None):
        raise UserError("data: give either 'name', a corpus, or 'path', your own text")
    if not 0 < validation < 1:
        raise UserError(f'data.validation: {validation} is not a fraction between 0 and 1')
    if path is not None:
        return _open_path(Path(path).expanduser(), Path(cache), validation)
    if name == 'pydocs':
        return _open_pydocs(Path(cache))
    return _open_dataset(name, open_named(name, Path(cache)), validation)


def _open_pydocs(cache: Path) -> Corpus:
    digest = pydocs.fingerprint(pydocs.installed_modules())
    return _open_own('pydocs', pydocs.PyDocs(data_dir=cache / digest[:16]), digest)


def _open_path(path: Path, cache: Path, validation: float) -> Corpus:
    if (path / 'dataset_info.json').is_file():
        return _open_dataset(path.name, tfds.builder_from_directory(path), validation)
    plan = text_files.plan_documents(path, validation)
    digest = text_files.fingerprint(plan)
    return _open_own(path.name, text_files.TextFiles(plan, data_dir=cache / digest[:16]), digest)


def _open_own(name: str, builder: tfds.core.DatasetBuilder, digest: str) -> Corpus:
    sources = tfds.builder_from_directory(prepare(builder)).as_data_source()
    splits = {split: Documents(source, range(len(source)), 'text', split) for split, source in sources.items()}
    return Corpus(name, splits, digest)


def _open_dataset(name: str, builder: tfds.core.DatasetBuilder, validation: float) -> Corpus:
    text = _text_feature(name, builder.info.features)
    splits = {
        split: Documents(source, range(len(source)), text, split) for split, source in _sources(name, builder).items()
    }
    if 'train' not in splits:
        raise UserError(f"{name}: has no split 'train'; it has {', '.join(splits) or 'none'}")
    for held_out in ('validation', 'test'):
        if held_out in splits:
            chosen = {'train': splits['train'], 'validation': splits[held_out]}
            return Corpus(name, chosen, _dataset_digest(builder, text))
    return Corpus(name, _carved(name, splits['train'], validation), _dataset_digest(builder, text, validation))


def _sources(name: str, builder: tfds.core.DatasetBuilder) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    try:
        return builder.as_data_source()
    except NotImplementedError as error:
        kept = builder.info.file_format.value
        raise UserError(
            f"{name}: is prepared as {kept}, without random access; prepare it with file_format='array_record'"
        ) from error


def _text_feature(name: str, features: tfds.features.FeaturesDict) -> str:
    """Return the field to learn: 'text', or the only string there is."""
    strings = [key for key, feature in features.items() if feature.shape == () and feature.np_dtype == np.object_]
    if 'text' in strings:
        return 'text'
    if len(strings) != 1:
        raise UserError(f"{name}: has no feature 'text' and not one string alone; it has {', '.join(sorted(features))}")
    return strings[0]


def _carved(name: str, train: Documents, validation: float) -> dict[str, Documents]:
    """Set records aside by a hash of their number; Philox is one, and the same in every release of NumPy."""
    chosen = np.random.Philox(key=0).random_raw(len(train)) < validation * 2.0**64
    rows = {'train': np.flatnonzero(~chosen), 'validation': np.flatnonzero(chosen)}
    for split, numbers in rows.items():
        if not len(numbers):
            raise UserError(f'{name}: {len(train)} documents leave none for {split}')
    return {split: Documents(train.source, numbers, train.text, 'train') for split, numbers in rows.items()}


def _dataset_digest(builder: tfds.core.DatasetBuilder, *choices: str | float) -> str:
    splits = {key: [info.shard_lengths, info.num_bytes] for key, info in sorted(builder.info.splits.items())}
    return hashlib.sha256(json.dumps([builder.info.full_name, splits, choices]).encode()).hexdigest()
