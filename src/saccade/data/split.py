# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Prepared data, ready for batches: for each split, rows with random access."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

import jax
import numpy as np

from saccade.types import Metric, Processor

PERPLEXITY = Metric('perplexity', 'lowest', 1.0)  # of splits whose loss is nats a token

Row = dict[str, np.ndarray | np.generic]


def batch_of(row: Row, batch_size: int) -> dict[str, jax.ShapeDtypeStruct]:
    """Return the shapes of a batch of rows like this one."""
    return {name: jax.ShapeDtypeStruct((batch_size, *array.shape), array.dtype) for name, array in row.items()}


@runtime_checkable
class RowSource(Protocol):
    """Protocol of rows with random access, all of the same shapes."""

    def __len__(self) -> int: ...

    def __getitem__(self, row: int) -> Row: ...

    def padding(self) -> Row:
        """A row of which nothing counts."""
        ...


@dataclass(frozen=True, eq=False)
class Bucket:
    """Bucket: rows of about one length, which are shorter than a split's own.

    Attributes:
        rows: random access to them.
        times: how many of them have as many tokens as one of the split's own.
    """

    rows: RowSource
    times: float

    def batch_size(self, longest: int) -> int:
        """Rows of a batch with about as many tokens as `longest` of the split's own."""
        return bucketed(longest, self.times)


def bucketed(longest: int, times: float) -> int:
    """Return `times` as many rows, or a few less: what divides by a power of two still does, as devices ask for."""
    unit = longest & -longest or 1
    return int(longest * times) // unit * unit


@dataclass(frozen=True, eq=False, kw_only=True)
class Split:
    """Split of the data.

    Attributes:
        rows: random access to the rows.
        targets: what is predicted, as many as there are of `unit`.
        unit: what a target is, in the plural.
        buckets: the rows by their length, to learn from in batches of one length each; empty to take them as they are.
        reports: declarations of what `derived` returns; its dataset has them too.
    """

    reports: ClassVar[tuple[Metric, ...]] = ()

    rows: RowSource
    targets: int
    unit: str = 'targets'
    buckets: tuple[Bucket, ...] = ()

    def derived(self, metrics: Mapping[str, float]) -> dict[str, float]:
        """Metrics that follow from the means of the whole split, by name."""
        return {}


@dataclass(frozen=True, eq=False)
class Prepared:
    """Prepared data, ready for batches.

    Attributes:
        processor: what made arrays of the examples; None where nothing was needed.
        source: what tells the data that they were made of from other data, in JSON's types; 'digest' among it.
    """

    processor: Processor | None
    splits: Mapping[str, Split]
    source: Mapping[str, Any] = field(default_factory=dict)
