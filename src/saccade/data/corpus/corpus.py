# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Text corpora: the embedded documentation or proteins, a TFDS dataset by name, or the user's files.

Texts with a name are TFDS datasets in ArrayRecord files, prepared once in a cache and read document by document. The
user's files are read in place.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from saccade.data.corpus.dataset import Picked, dataset_digest, pick, require_source
from saccade.data.corpus.document import TextDocument
from saccade.data.corpus.row_texts import holds_rows, read_rows
from saccade.data.corpus.text_files import fingerprint, plan_documents
from saccade.data.dataset_base import DatasetSource
from saccade.nearest import listed
from saccade.paths import expanded
from saccade.types import UserError


@dataclass(frozen=True, eq=False)
class Documents(Picked):
    """Documents of a TFDS dataset. Attributes: text, the name of the text feature."""

    text: str

    def __getitem__(self, index: int) -> TextDocument:
        record = super().__getitem__(index)
        named = isinstance(record.get('id'), bytes)
        return TextDocument(
            id=record['id'].decode(errors='replace') if named else self.place(index),
            text=record[self.text].decode(errors='replace'),
        )


@dataclass(frozen=True, eq=False)
class Corpus(DatasetSource):
    """Corpus of documents. Attributes: splits, sequences of `TextDocument`; name."""

    name: str


def open_corpus(
    name: str | None, path: str | None, cache: Path, validation: float = 0.1, column: str = 'text'
) -> Corpus:
    """Open a corpus; prepare it first if necessary.

    Args:
        name: 'pydocs', 'motifs' (generated proteins), or a TFDS dataset with text; or
        path: a file or folder of the user's, of text or of rows (`row_texts`); or the folder of a prepared TFDS
            dataset.
        cache: folder to prepare into.
        validation: fraction of the text for validation, if the corpus has no such split.
        column: field of rows that has the text.

    Raises:
        UserError: not exactly one of name and path is given, or the corpus does not exist or cannot be read.
    """
    require_source(name, path, validation)
    cache = Path(cache)
    if name is not None:
        return _open_named(name, cache, validation)
    path = expanded(path)
    if (path / 'dataset_info.json').is_file():
        from saccade.data.corpus.prepare import opened

        return _open_dataset(path.name, opened(path), validation)
    if holds_rows(path):
        splits, digest = read_rows(path, column, validation)
        return Corpus(splits, digest, path.name)
    plan = plan_documents(path, validation)
    return Corpus(plan, fingerprint(plan), path.name)


def _open_named(name: str, cache: Path, validation: float) -> Corpus:
    """Open a corpus by its name, ours or TFDS's."""
    from saccade.data.corpus import pydocs
    from saccade.data.corpus.motifs import Motifs
    from saccade.data.corpus.named import open_named
    from saccade.data.corpus.prepare import opened, prepare_own

    if name == 'pydocs':
        digest = pydocs.fingerprint(pydocs.installed_modules())
        folder = prepare_own(pydocs.PyDocs, cache / digest[:16])
        return Corpus(_documents(folder), digest, name, versions=pydocs.versions())
    builder = opened(prepare_own(Motifs, cache)) if name == Motifs.name else open_named(name, cache)
    return _open_dataset(name, builder, validation)


def _documents(folder: Path) -> dict[str, Documents]:
    """Return the documents of one of our own datasets, by split."""
    from saccade.data.corpus.prepare import opened

    sources = opened(folder).as_data_source()
    return {
        split: Documents(sources[split], range(len(sources[split])), split, 'text')
        for split in ('train', 'validation', 'test')
        if split in sources
    }


def _open_dataset(name: str, builder: 'tensorflow_datasets.core.DatasetBuilder', validation: float) -> Corpus:
    """Open a prepared dataset; its text is the feature 'text', or its only string feature."""
    features = builder.info.features
    strings = [key for key, feature in features.items() if feature.shape == () and feature.np_dtype == np.object_]
    if 'text' not in strings and len(strings) != 1:
        raise UserError(
            f"{name}: has no feature 'text' and not exactly one string; it has {listed(sorted(features), 'text')}"
        )
    text = 'text' if 'text' in strings else strings[0]
    picked = pick(name, builder, validation)
    splits = {split: Documents(each.source, each.rows, each.split, text) for split, each in picked.items()}
    return Corpus(splits, dataset_digest(builder, text, [each.choice for each in picked.values()]), name)
