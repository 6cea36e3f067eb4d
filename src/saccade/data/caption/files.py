# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Images with captions in files: a table of paths and captions, .csv, .tsv or .jsonl, or a folder of such tables.

    image,caption
    birds/1.png,a bird on a branch

Paths are relative to the folder of the table. Images are decoded on demand; changes are detected by file names and
sizes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from saccade.data.cache import digest
from saccade.data.caption.captioned_base import CaptionedBase, CaptionedImages
from saccade.data.corpus.record_files import FileRecords
from saccade.data.corpus.records import open_records, strings
from saccade.data.image.rows import ImageFiles
from saccade.paths import expanded
from saccade.types import HeldOut, UserError

__all__ = ['CaptionFiles']


@dataclass(frozen=True, kw_only=True)
class CaptionFiles(CaptionedBase):
    """Images with captions in files.

    Attributes:
        path: the table, or a folder with train.csv and validation.csv, or another of the endings of records.
        image: column of an image's path.
        caption: column of its caption.
        validation: fraction of the images to hold out, with all their captions, if there is no table for it.
    """

    path: str
    image: str = 'image'
    caption: str = 'caption'
    validation: HeldOut = 0.1

    @property
    def inputs(self) -> Mapping[str, str]:
        """The input of a record, with its column."""
        return {'image': self.image}

    def _captioned(self, cache: Path) -> tuple[Mapping[str, CaptionedImages], str]:
        columns = self.image, self.caption
        found = open_records(None, self.path, cache, self.validation, columns, by=(self.image,))
        splits = {name: self._split(records) for name, records in found.splits.items()}
        sizes = [[path.stat().st_size for path in split.images.paths] for split in splits.values()]
        return splits, digest(found.digest, sizes)

    def _split(self, records: FileRecords) -> CaptionedImages:
        paths = [records.path.parent / expanded(path) for path in strings(records, self.image)]
        for number, path in enumerate(paths):
            if not path.is_file():
                raise UserError(f'{records.place(number)}: there is no image {path}')
        captions = [*strings(records, self.caption)]
        for number, caption in enumerate(captions):
            if not caption.strip():
                raise UserError(f'{records.place(number)}: the caption is empty; fill it in, or leave the image out')
        return CaptionedImages.of(ImageFiles(paths), captions)
