# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Document of a corpus: its text, its id, its stored features, and the number that decides its split."""

import hashlib
from collections.abc import Collection
from typing import TypedDict


class Document(TypedDict):
    """Document: a text, and an id that is unique within the split."""

    id: str
    text: str


def features() -> 'tensorflow_datasets.features.FeaturesDict':
    """Return the features under which our own builders keep a document."""
    import tensorflow_datasets as tfds

    return tfds.features.FeaturesDict({'id': tfds.features.Text(), 'text': tfds.features.Text()})


def draw(id: str) -> float:
    """Return a number in [0, 1) that depends on the id alone.

    Documents below a fraction are that split, so none moves when others come or go.
    """
    return int.from_bytes(hashlib.sha256(id.encode()).digest()[:6]) / 2**48


def held_out(ids: Collection[str], validation: float) -> set[str]:
    """Return the ids that are for validation: those drawn below a fraction, but of few at least one and never all."""
    by_draw = sorted(ids, key=draw)
    count = sum(draw(id) < validation for id in ids)
    return set(by_draw[: min(max(count, 1), len(ids) - 1)])
