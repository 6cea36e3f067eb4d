# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Files in folders named after their classes.

PATH/CLASS/*                    a fraction of each class is held out for validation; or
PATH/train/CLASS/*              with PATH/validation (valid, val or dev), PATH/test or both next to it, in any case

Without a folder for validation, a fraction of each class of PATH/train is held out. Files of PATH/test are used neither
for training nor for choosing a checkpoint.

Hidden files and folders, and leftovers of editors and systems, are neither classes nor examples.
"""

import itertools
import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Int

from saccade.data.cache import digest
from saccade.data.corpus.files import visible_files
from saccade.data.corpus.named_splits import NAMES
from saccade.data.encoder.names import Names
from saccade.data.stratified import both_splits, stratified
from saccade.types import UserError

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class LabelledFiles:
    """Labelled files of a split. Attributes: paths; labels, the class index of each; names of the classes."""

    paths: list[Path]
    labels: Int[np.ndarray, 'files']
    names: tuple[str, ...]


@dataclass(frozen=True)
class Classes:
    """Classes of labelled files. Attributes: count; names in order, None for the sorted ones of the training split."""

    count: int
    names: tuple[str, ...] | None = None


def labelled_splits(
    folder: Path, endings: Collection[str], what: str, classes: Classes, validation: float
) -> tuple[Mapping[str, LabelledFiles], str]:
    """Return the files of 'train' and 'validation', and 'test' if there are any; and a digest of their names and sizes.

    Args:
        endings: endings of the files to read, in lower case.
        what: noun for these files, in the plural.
        validation: fraction of each class to hold out, if there is no folder for it.

    Raises:
        UserError: the folder does not exist, has no such files, or has another number of classes.
    """
    if not folder.is_dir():
        raise UserError(f'data.path: {folder}: there is no such folder')
    below = {path.name.lower(): path for path in sorted(folder.iterdir()) if path.is_dir()}
    there = {split: below[name] for split, names in NAMES.items() for name in reversed(names) if name in below}
    if 'train' not in there or len(there) == 1:
        there = {'train': folder}
    splits = {split: by_class(place, endings, what) for split, place in there.items()}
    if 'validation' not in splits:
        _, labels = np.unique([path.parent.name for path in splits['train']], return_inverse=True)
        chosen = stratified(labels, validation)
        parts = both_splits(chosen, validation).items()
        splits |= {split: list(itertools.compress(splits['train'], part)) for split, part in parts}
    names = Names.of((path.parent.name for path in splits['train']), classes.count, classes.names)
    found = {
        split: LabelledFiles(
            paths,
            names.numbers([path.parent.name for path in paths], lambda index, paths=paths: str(paths[index])),
            names.known,
        )
        for split, paths in splits.items()
    }
    sizes = ([[str(path), _size(path)] for path in paths] for paths in splits.values())
    return found, digest(*sizes, *classes.names or ())


def by_class(folder: Path, endings: Collection[str], what: str) -> list[Path]:
    """Return the files in the subfolders of a folder, sorted; log the number of other files.

    Raises:
        UserError: there are none.
    """
    there = visible_files(folder)
    found = sorted(path for path in there if path.parent.parent == folder and path.suffix.lower() in endings)
    if not found:
        raise UserError(f'{folder}: has no folder with {what}; each class needs a folder of its name')
    if len(found) < len(there):
        others = len(there) - len(found)
        _LOG.warning('%s: skipped %d files that are not %s or not in the folder of a class', folder, others, what)
    return found


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError as error:
        raise UserError(f'{path}: cannot be read ({error.strerror})') from error
