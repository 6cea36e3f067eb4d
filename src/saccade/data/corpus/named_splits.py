# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Splits of a folder of text that the names of its files, or of its folders, tell.

    train.jsonl, test.jsonl                                         validation is held out from training
    data/train-00000-of-00002.parquet, data/validation-00000-...    a repository of the Hugging Face Hub
    train_00.txt, train_01.txt, dev.txt                             parts of a split
    wiki.train.raw, wiki.valid.raw; train-v1.1.json, dev-v1.1.json  the name of the set before the split's, or after it
    train/a.txt, train/b.txt, test/c.txt                            a folder for each split

The validation split is named validation, valid, val or dev, in any case.
"""

import logging
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path, PurePath

from saccade.nearest import listed
from saccade.types import UserError

_LOG = logging.getLogger(__name__)
NAMES: Mapping[str, Sequence[str]] = {  # of files and folders, by split
    'train': ('train',),
    'validation': ('validation', 'valid', 'val', 'dev'),
    'test': ('test',),
}
_SPLIT_OF = {name: split for split, names in NAMES.items() for name in names}
_FILE = re.compile(
    rf'(?P<before>.+[-_.])?(?P<split>{"|".join(_SPLIT_OF)})([-_.]\d+(-of-\d+)?)?(?P<after>[-_.].+?)??\.\w+(\.gz)?',
    re.IGNORECASE,
)


def named_splits(folder: Path, files: Sequence[Path], endings: Collection[str]) -> dict[str, list[Path]]:
    """Return the files of each split, which may have none but for training; log the number of other files.

    Empty if no names tell splits: then any file may be for training.

    Args:
        folder: where all of `files` are, at any depth.
        endings: of the files that can be of a split, in lower case.

    Raises:
        UserError: several sets of files have splits, in several folders or with several names; or some files are named
            after nothing but a split, and others are not, or none is named after the training split.
    """
    placed = {file: place for file in files if (place := _place(file.relative_to(folder), endings))}
    found: dict[PurePath, set[str]] = {}
    for place, split in placed.values():
        found.setdefault(place, set()).add(split)
    whole = [place for place, splits in found.items() if {'train'} < splits]
    if len(whole) > 1 and PurePath() not in whole:
        sets = listed([place.as_posix() for place in whole])
        raise UserError(
            f'{folder}: several sets of files are named after splits: {sets}; give the path of a folder that has one'
        )
    if not whole:
        _require_unnamed(folder, files, endings)
        return {}
    at = PurePath() if PurePath() in whole else whole[0]
    chosen = {file: split for file, (place, split) in placed.items() if place == at}
    if len(chosen) < len(files):
        names = listed([file.relative_to(folder).as_posix() for file in chosen])
        _LOG.warning('%s: %s are the splits; %d other files are skipped', folder, names, len(files) - len(chosen))
    return {split: [file for file, its in chosen.items() if its == split] for split in NAMES}


def _place(file: PurePath, endings: Collection[str]) -> tuple[PurePath, str] | None:
    """Return the set of a file, and its split, by the name of the file or of a folder above it.

    A set is a folder, or the files in it that have the same name but for the split, as wiki.*.raw.
    """
    if _ending(file) not in endings:
        return None
    for above in reversed(file.parents[:-1]):
        if above.name.lower() in _SPLIT_OF:
            return above.parent, _SPLIT_OF[above.name.lower()]
    match = _FILE.fullmatch(file.name)
    if not match:
        return None
    name = f'{match["before"] or ""}*{match["after"] or ""}'
    return file.parent / (name if name != '*' else ''), _SPLIT_OF[match['split'].lower()]


def _require_unnamed(folder: Path, files: Sequence[Path], endings: Collection[str]) -> None:
    """Refuse files named after splits if the set is incomplete, such as test.txt alone.

    Among files of other endings, such as source code, only names in the folder itself count.
    """
    only = all(_ending(file) in endings for file in files)
    named = {
        file: _SPLIT_OF[match['split'].lower()]
        for file in files
        if (match := _FILE.fullmatch(file.name)) and not (match['before'] or match['after'])
        if _ending(file) in endings and (only or file.parent == folder)
    }
    if named and (len(named) < len(files) or {*named.values()} != {'train'}):
        names = listed([file.relative_to(folder).as_posix() for file in named])
        raise UserError(
            f'{folder}: {names}: named after a split, and there is not both a train.* and a validation.* or test.*: '
            'add the missing one, rename the files, or give the path of one file'
        )


def _ending(file: PurePath) -> str:
    return PurePath(file.name.lower().removesuffix('.gz')).suffix
