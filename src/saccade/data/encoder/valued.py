# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Text regression data: texts or pairs of texts with a number each, such as the similarity of sentences."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from saccade.data.corpus.files import number_of
from saccade.data.corpus.records import Records, RecordSource
from saccade.data.encoder.example_base import Examples
from saccade.types import UserError

__all__ = ['Valued']


@dataclass(frozen=True, kw_only=True)
class Valued(Examples):
    """Texts or pairs of texts with a number each. Attributes: value, column of the number."""

    value: str

    answer: ClassVar[str] = 'value'
    padding_label: ClassVar[np.generic] = np.float32(np.nan)

    def _labels_by_split(self, records: Records) -> dict[str, dict[str, np.ndarray]]:
        return {
            split: {'value': np.fromiter(self._values(source), np.float32)} for split, source in records.splits.items()
        }

    def _values(self, records: RecordSource) -> Iterator[float]:
        for index in range(len(records)):
            given = records[index][self.value]
            value = number_of(given)
            if value is None:
                raise UserError(f"{records.place(index)}: '{self.value}' is not a number, but {given!r}")
            yield value
