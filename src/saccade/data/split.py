# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What data is when it is ready for batches: for each split, rows that can be had in any order."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import jax
import numpy as np

from saccade.data.tokenizer import Tokenizer

Row = dict[str, np.ndarray | np.generic]


def batch_of(row: Row, batch_size: int) -> dict[str, jax.ShapeDtypeStruct]:
    """Return the shapes of a batch of rows like this one."""
    return {name: jax.ShapeDtypeStruct((batch_size, *array.shape), array.dtype) for name, array in row.items()}


@runtime_checkable
class RowSource(Protocol):
    """Random access to rows, all of the same shapes."""

    def __len__(self) -> int: ...

    def __getitem__(self, row: int) -> Row: ...

    def padding(self) -> Row:
        """A row of which nothing counts."""
        ...


@dataclass(frozen=True, eq=False, kw_only=True)
class Split:
    """One part of the data.

    Attributes:
        rows: random access to the rows.
        targets: what is predicted, as many as there are of `unit`.
        unit: what a target is, in the plural.
    """

    rows: RowSource
    targets: int
    unit: str = 'targets'

    def derived(self, metrics: Mapping[str, float]) -> dict[str, float]:
        """Metrics that follow from the means of the whole split, by name."""
        return {}


@dataclass(frozen=True, eq=False)
class Prepared:
    """Data ready for batches."""

    tokenizer: Tokenizer
    splits: Mapping[str, Split]
