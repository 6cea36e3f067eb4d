# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Questions about the user's images, in JSON lines or CSV: an image, a question, a text and the answer in it.

    {"image": "a.png", "question": "What is the sign?", "context": "Stop signs and crossings", "answer": "Stop signs"}

Paths of images are relative to the folder of the file. The answer is the first occurrence of its text in the context;
an empty answer means that the question is unanswerable. All questions about an image are in one split.
"""

from dataclasses import dataclass
from pathlib import Path

from saccade.data.cache import digest
from saccade.data.corpus.question import Answer, Question
from saccade.data.corpus.record_files import FileRecords
from saccade.data.corpus.records import open_records, resolved, strings
from saccade.data.image.question_base import ImageInquiry, ImageQuestionsBase
from saccade.data.image.rows import ImageFiles
from saccade.types import HeldOut, UserError

__all__ = ['ImageQuestionFiles']


@dataclass(frozen=True, kw_only=True)
class ImageQuestionFiles(ImageQuestionsBase):
    """Questions about images in files.

    Attributes:
        path: a file of records; or a folder with one named after each split, as in `data.corpus.records`.
        validation: fraction of images for validation, if there is no such split.
    """

    path: str
    validation: HeldOut = 0.1

    def _open(self, cache: Path) -> ImageInquiry:
        columns = (*self.inputs.values(), 'answer')
        opened = open_records(None, self.path, cache, self.validation, columns, by=('image',))
        records = {name: resolved(found, 'image') for name, found in opened.splits.items()}
        return ImageInquiry(
            {name: _questions(found) for name, found in records.items()},
            digest({name: found.digest for name, found in records.items()}, self.validation),
            images={name: _images(found) for name, found in records.items()},
        )


def _questions(records: FileRecords) -> list[Question]:
    """Return the question of each record.

    Raises:
        UserError: a value is not text, or the answer is not in the context.
    """
    columns = (strings(records, name) for name in ('question', 'context', 'answer'))
    found = []
    for index, (question, context, answer) in enumerate(zip(*columns, strict=True)):
        place, start = records.place(index), context.find(answer)
        if start < 0:
            raise UserError(f'{place}: the answer {answer!r} is not in the context')
        found.append(Question(place, '', question, context, (Answer(answer, start),) if answer else ()))
    return found


def _images(records: FileRecords) -> ImageFiles:
    """Return the image of each record, read on demand.

    Raises:
        UserError: a file does not exist.
    """
    paths = [Path(path) for path in strings(records, 'image')]
    for index, path in enumerate(paths):
        if not path.is_file():
            raise UserError(f'{records.place(index)}: there is no image {path}')
    return ImageFiles(paths)
