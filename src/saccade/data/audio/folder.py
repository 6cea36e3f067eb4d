# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Labelled sounds in WAV files, in folders named after their classes; see `data.labelled_folders`.

Files are read on demand. Changes of the data are detected by file names and sizes, not by contents.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from saccade.data.audio.labelled_base import LabelledSoundsBase
from saccade.data.labelled_base import Labelled
from saccade.data.labelled_folders import Classes, labelled_splits
from saccade.paths import expanded
from saccade.types import Count, HeldOut

__all__ = ['SoundFolder']


@dataclass(frozen=True, kw_only=True)
class SoundFolder(LabelledSoundsBase):
    """Labelled sounds in folders.

    Attributes:
        classes: number of classes (C).
        names: of the classes, in the order of their numbers; None for the sorted names of their folders.
        path: a folder of WAV files by class.
        validation: fraction of each class to hold out, if there is no folder for it.
    """

    classes: Count
    path: str
    names: tuple[str, ...] | None = None
    validation: HeldOut = 0.2

    def _labelled(self, cache: Path) -> tuple[Mapping[str, Labelled], str]:
        folder = expanded(self.path)
        classes = Classes(self.classes, self.names)
        found, changes = labelled_splits(folder, ('.wav', '.wave'), 'WAV files', classes, self.validation)
        splits = {name: Labelled(self._files(of.paths), of.labels, of.names) for name, of in found.items()}
        return splits, changes
