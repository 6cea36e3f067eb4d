# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Text classification data: texts or pairs of texts with a class each: sentiment, topics, entailment."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from saccade.data.corpus.records import Records, RecordSource
from saccade.data.encoder.example_base import Examples
from saccade.data.encoder.names import Names, class_of
from saccade.types import IGNORED

__all__ = ['Classified']


@dataclass(frozen=True, kw_only=True)
class Classified(Examples):
    """Texts or pairs of texts with a class each.

    Attributes:
    label: column of the class.
    classes: number of classes (C).
    names: of the classes, in the order of their numbers; None for the sorted names in the training split.
    """

    label: str
    classes: int
    names: tuple[str, ...] | None = None

    answer: ClassVar[str] = 'label'
    padding_label: ClassVar[np.generic] = np.int32(IGNORED)

    @property
    def _key(self) -> Any:
        return super()._key, self.classes, *(self.names or ())

    def _labels_by_split(self, records: Records) -> dict[str, dict[str, np.ndarray]]:
        labels = {split: list(self._labels(source)) for split, source in records.splits.items()}
        names = Names.of(labels['train'], self.classes, self.names, labels)
        return {
            split: {'label': names.numbers(labels[split], source.place), 'names': np.array(names.known)}
            for split, source in records.splits.items()
        }

    def _labels(self, records: RecordSource) -> Iterator[str]:
        for index in range(len(records)):
            yield class_of(records[index][self.label], self.label, records.place(index))
