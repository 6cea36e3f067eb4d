# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Labelled images in folders named after their classes, or from a TFDS dataset; they may exceed memory.

    PATH/CLASS/*.png                a fraction of each class is held out; or
    PATH/train/CLASS/*.png          with PATH/validation, valid, val or test next to it

Files are decoded on demand. Changes of the data are detected by file names and sizes, not by contents.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Int
from PIL import Image

from saccade.data.corpus.dataset import Picked, dataset_digest, pick, require_source
from saccade.data.image.labelled_base import LabelledImagesBase
from saccade.data.image.rows import FORMATS, ImageFiles, ImageRecords
from saccade.data.labelled_base import Labelled
from saccade.data.labelled_folders import Classes, by_class, labelled_splits
from saccade.paths import expanded
from saccade.types import Count, HeldOut, UserError

__all__ = ['ImageFolder']

_Labelled = tuple[Mapping[str, Labelled], str]


@dataclass(frozen=True, kw_only=True)
class ImageFolder(LabelledImagesBase):
    """Labelled images in folders, or from a TFDS dataset.

    Attributes:
        classes: number of classes (C).
        names: of the classes, in the order of their numbers; None for the sorted names of their folders.
        path: a folder of images by class, or the folder of a prepared TFDS dataset; or
        name: a TFDS dataset with an 'image' and a 'label'.
        validation: fraction of each class to hold out, if there is no folder or split for it.
    """

    classes: Count
    path: str | None = None
    name: str | None = None
    names: tuple[str, ...] | None = None
    validation: HeldOut = 0.2

    def _labelled(self, cache: Path) -> _Labelled:
        require_source(self.name, self.path, self.validation)
        if self.name is not None:
            from saccade.data.corpus.named import open_named

            return self._of_dataset(self.name, open_named(self.name, Path(cache)))
        folder = expanded(self.path)
        if (folder / 'dataset_info.json').is_file():
            from saccade.data.corpus.prepare import opened

            return self._of_dataset(folder.name, opened(folder))
        classes = Classes(self.classes, self.names)
        found, changes = labelled_splits(folder, _endings(), 'images', classes, self.validation)
        images = {name: Labelled(ImageFiles(of.paths), of.labels, of.names) for name, of in found.items()}
        return images, changes

    def _of_dataset(self, name: str, builder: object) -> _Labelled:
        features = builder.info.features
        missing = {'image', 'label'} - {*features}
        if missing:
            raise UserError(f"{name}: has no '{missing.pop()}'; it has {', '.join(features)}")
        names = tuple(features['label'].names)
        if len(names) != self.classes:
            raise UserError(f'data.classes: {self.classes}, but {name} has {len(names)}')
        if self.names not in (None, names):
            raise UserError(f'data.names: {", ".join(self.names)}, but {name} has {", ".join(names)}')
        picked = pick(name, builder, self.validation)
        splits = {
            split: Labelled(ImageRecords(of, 'image'), _labels(of, self.classes), names) for split, of in picked.items()
        }
        return splits, dataset_digest(builder, self.validation)


def _endings() -> Collection[str]:
    formats = (*FORMATS, 'MPO')  # MPO has its own ending
    return {ending for ending, format in Image.registered_extensions().items() if format in formats}


def images_by_class(folder: Path) -> tuple[ImageFiles, Int[np.ndarray, 'images'], tuple[str, ...]]:
    """Return the images in the subfolders of a folder, the class of each, and the sorted names of the classes.

    Raises:
        UserError: there are none.
    """
    paths = by_class(folder, _endings(), 'images')
    names, labels = np.unique([path.parent.name for path in paths], return_inverse=True)
    return ImageFiles(paths), labels.astype(np.int32), tuple(map(str, names))


def _labels(picked: Picked, classes: int) -> np.ndarray:
    labels = np.array([int(picked[index]['label']) for index in range(len(picked))], np.int32)
    for index, label in enumerate(labels.tolist()):
        if not 0 <= label < classes:
            raise UserError(f'{picked.place(index)}: has the class {label}, but classes are 0 to {classes - 1}')
    return labels
