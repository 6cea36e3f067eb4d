# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Document of a corpus: its text, its id, its stored features, and the draw that decides its split."""

import hashlib
from collections.abc import Collection
from typing import TypedDict


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
    return int.from_bytes(hashlib.sha256(id.encode()).digest()[:6]) / 2**48


def held_out(ids: Collection[str], validation: float) -> set[str]:
    """Return the ids for validation: those with a draw below the fraction, but at least one and never all."""
    by_draw = sorted(ids, key=draw)
    count = sum(draw(id) < validation for id in ids)
    return set(by_draw[: min(max(count, 1), len(ids) - 1)])
