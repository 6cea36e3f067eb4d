# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Document of a corpus: its text, its id, its stored features, and the draw that decides its split."""

import hashlib
import itertools
from collections.abc import Collection
from typing import TypedDict

import numpy as np


class Document(TypedDict):
    """Document: a text, and an id that is unique within the split."""

    id: str
    text: str


def features() -> 'tensorflow_datasets.features.FeaturesDict':
    """Return the features of a document in our own builders."""
    import tensorflow_datasets as tfds

    return tfds.features.FeaturesDict({'id': tfds.features.Text(), 'text': tfds.features.Text()})


def draw(id: str) -> float:
    """Return a number in [0, 1) that depends only on the id.

    Documents with a draw below a fraction form a split, so no document changes its split when others come or go.
    """
    return drawn(hashlib.sha256(id.encode()).digest())


def drawn(sha256: bytes) -> float:
    """Return the draw of an id, or of content, with this hash."""
    return int.from_bytes(sha256[:6]) / 2**48


def lowest(draws: np.ndarray, fraction: float) -> np.ndarray:
    """Return a flag for each draw below the fraction: at least one is True, and never all."""
    count = min(max(int((draws < fraction).sum()), 1), len(draws) - 1)
    chosen = np.zeros(len(draws), bool)
    chosen[np.argsort(draws, kind='stable')[:count]] = True
    return chosen


def held_out(ids: Collection[str], validation: float) -> set[str]:
    """Return the ids for validation, by `lowest`."""
    return set(itertools.compress(ids, lowest(np.array([draw(id) for id in ids]), validation)))
