# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Prepared data: rows with random access, for each split."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

import jax
import numpy as np

from saccade.types import Metric, Processor

PERPLEXITY = Metric('perplexity', 'lowest', 1.0)  # for splits whose loss is in nats per token

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
        """Return a row without targets."""
        ...


@dataclass(frozen=True)
class Share:
    """Share of training rows. Attributes: rows, number of consecutive rows; weight, relative frequency."""

    rows: int
    weight: float


@dataclass(frozen=True, eq=False)
class Bucket:
    """Bucket of rows of similar length, at most as long as the rows of its split.

    Attributes:
        rows: random access to the rows.
        times: number of these rows with as many tokens as one row of the split.
        shares: shares of the rows, each shuffled and repeated on its own; empty if all rows are equally frequent.
    """

    rows: RowSource
    times: float
    shares: tuple[Share, ...] = ()

    def batch_size(self, longest: int) -> int:
        """Return the number of rows with about as many tokens as `longest` rows of the split."""
        return bucketed(longest, self.times)


def bucketed(longest: int, times: float) -> int:
    """Return about `times` the number of rows, divisible by the same power of two, as needed for devices."""
    unit = longest & -longest or 1
    return int(longest * times) // unit * unit


@dataclass(frozen=True, eq=False, kw_only=True)
class Split:
    """Split of the data.

    Attributes:
        rows: random access to the rows.
        targets: number of targets, in `unit`.
        unit: noun for targets, in the plural.
        buckets: rows by length, for training batches of one length each; empty for batches of `rows`.
        reports: declared metrics of `derived`; the dataset declares them too.
    """

    reports: ClassVar[tuple[Metric, ...]] = ()

    rows: RowSource
    targets: int
    unit: str = 'targets'
    buckets: tuple[Bucket, ...] = ()

    def derived(self, metrics: Mapping[str, float]) -> dict[str, float]:
        """Return metrics that follow from the means over the whole split, by name."""
        return {}


@dataclass(frozen=True, eq=False)
class Prepared:
    """Prepared data, ready for batches.

    Attributes:
        processor: converts examples to arrays; None if none is needed.
        source: facts that identify the source data, in JSON's types, including 'digest'.
    """

    processor: Processor | None
    splits: Mapping[str, Split]
    source: Mapping[str, Any] = field(default_factory=dict)
