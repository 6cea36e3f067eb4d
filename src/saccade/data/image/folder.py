# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Labelled images in folders named after their classes, or of a TFDS dataset; larger than memory if need be.

    PATH/CLASS/*.png                a share of each class is held out; or
    PATH/train/CLASS/*.png          with PATH/validation, valid, val or test beside it

Files are decoded when a batch asks for them. Their names and sizes say whether the data changed, not their contents.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from saccade.data.cache import digest
from saccade.data.corpus.dataset import Picked, dataset_digest, pick, require_source
from saccade.data.corpus.named import open_named
from saccade.data.corpus.prepare import opened
from saccade.data.encoder.names import Names
from saccade.data.image.labelled_base import LabelledImages, LabelledImagesBase
from saccade.data.image.rows import ImageFiles, ImageRecords
from saccade.data.stratified import stratified
from saccade.types import Count, Share, UserError

_HELD_OUT = ('validation', 'valid', 'val', 'test')  # folders beside 'train', the first that is there
_Labelled = tuple[Mapping[str, LabelledImages], str]


@dataclass(frozen=True, kw_only=True)
class ImageFolder(LabelledImagesBase):
    """Labelled images in folders, or of a TFDS dataset.

    Attributes:
        classes: C, how many there are.
        path: a folder of images by class, or that of a prepared TFDS dataset; or
        name: of a TFDS dataset with an 'image' and a 'label'.
        validation: share of each class that is held out, where no folder and no split is.
    """

    classes: Count
    path: str | None = None
    name: str | None = None
    validation: Share = 0.2

    def _labelled(self, cache: Path) -> _Labelled:
        require_source(self.name, self.path, self.validation)
        if self.name is not None:
            return self._of_dataset(self.name, open_named(self.name, Path(cache)))
        folder = Path(self.path).expanduser()
        if (folder / 'dataset_info.json').is_file():
            return self._of_dataset(folder.name, opened(folder))
        if not folder.is_dir():
            raise UserError(f'data.path: {folder}: there is no such folder')
        aside = next((folder / name for name in _HELD_OUT if (folder / name).is_dir()), None)
        if (folder / 'train').is_dir() and aside is not None:
            return self._of_files(_images(folder / 'train'), _images(aside))
        paths = _images(folder)
        _, labels = np.unique([path.parent.name for path in paths], return_inverse=True)
        chosen = stratified(labels, self.validation)
        train, validation = (list(itertools.compress(paths, part)) for part in (~chosen, chosen))
        return self._of_files(train, validation)

    def _of_files(self, train: Sequence[Path], validation: Sequence[Path]) -> _Labelled:
        names = Names.of((path.parent.name for path in train), self.classes)
        splits = {'train': train, 'validation': validation}
        found = {
            split: LabelledImages(
                ImageFiles(paths),
                names.numbers([path.parent.name for path in paths], lambda index, paths=paths: str(paths[index])),
                names.known,
            )
            for split, paths in splits.items()
        }
        return found, digest(*([[str(path), path.stat().st_size] for path in paths] for paths in splits.values()))

    def _of_dataset(self, name: str, builder: object) -> _Labelled:
        features = builder.info.features
        missing = {'image', 'label'} - {*features}
        if missing:
            raise UserError(f"{name}: has no '{missing.pop()}'; it has {', '.join(features)}")
        names = tuple(features['label'].names)
        if len(names) != self.classes:
            raise UserError(f'data.classes: {self.classes}, but {name} has {len(names)}')
        picked = pick(name, builder, self.validation)
        splits = {split: LabelledImages(ImageRecords(of, 'image'), _labels(of), names) for split, of in picked.items()}
        return splits, dataset_digest(builder, self.validation)


def _images(folder: Path) -> list[Path]:
    """The files of images in the folders of a folder, in order.

    Raises:
        UserError: there are none.
    """
    endings = Image.registered_extensions()
    found = sorted(path for path in folder.glob('*/*') if path.suffix.lower() in endings)
    if not found:
        raise UserError(f'{folder}: holds no folder with images; each class has a folder of its name')
    return found


def _labels(picked: Picked) -> np.ndarray:
    return np.array([int(picked[index]['label']) for index in range(len(picked))], np.int32)
