# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Stacked rows: each of several texts in a separate row, [CLS] a [SEP] over [CLS] b [SEP], on an axis of texts.

A Siamese encoder reads all of them at once, [B texts T] as [(B texts) T], with the same weights for each.
"""

from dataclasses import dataclass

import numpy as np

from saccade.data.rows.frame import Frame, Values
from saccade.data.split import Row


@dataclass(frozen=True)
class StackedFrame:
    """Special tokens around texts in separate rows.

    Attributes: frame of one text; texts, number of texts.
    """

    frame: Frame
    texts: int

    def room(self, texts: int = 1) -> int:
        """Return the maximum number of tokens of each text."""
        return self.frame.room()

    def row(self, *texts: Values) -> Row:
        """Return tokens, segments, positions and types of these texts, [texts T] each."""
        return _stacked([self.frame.row(text) for text in texts])

    def empty(self, *lengths: np.ndarray) -> np.ndarray:
        """Return True for each example with a text without a token. Args: tokens of each text, [examples]."""
        return np.any([each == 0 for each in lengths], axis=0)

    def padding(self) -> Row:
        """Return rows of padding."""
        return _stacked([self.frame.padding()] * self.texts)


def _stacked(rows: list[Row]) -> Row:
    return {name: np.stack([row[name] for row in rows]) for name in rows[0]}
