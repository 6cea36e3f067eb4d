# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Stacked rows: each of several texts in a row of its own, [CLS] a [SEP] over [CLS] b [SEP], on an axis of texts.

A tower that is applied to all of them at once, [B texts T] as [(B texts) T], has the same weights for each: it is
Siamese.
"""

from dataclasses import dataclass

import numpy as np

from saccade.data.rows.frame import Frame, Values
from saccade.data.split import Row


@dataclass(frozen=True)
class StackedFrame:
    """Special tokens around texts that stand in rows of their own.

    Attributes: alone, the frame of one text; texts, how many there are.
    """

    alone: Frame
    texts: int

    def room(self, texts: int = 1) -> int:
        """Tokens that each of the texts may have, however many there are."""
        return self.alone.room()

    def row(self, *texts: Values) -> Row:
        """Tokens, segments, positions and types of these texts, [texts T] each."""
        return _stacked([self.alone.row(text) for text in texts])

    def padding(self) -> Row:
        """Texts without a token."""
        return _stacked([self.alone.padding()] * self.texts)


def _stacked(rows: list[Row]) -> Row:
    return {name: np.stack([row[name] for row in rows]) for name in rows[0]}
