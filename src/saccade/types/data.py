# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Protocols of datasets."""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import jax


@runtime_checkable
class Data(Protocol):
    """Where batches come from."""

    context: int

    def batch_like(self, batch_size: int) -> dict[str, jax.ShapeDtypeStruct]:
        """Shapes of a batch, known before any data is read."""
        ...

    def prepare(self, cache: Any, tokenizer: Any = None) -> Any:
        """Return the tokenizer and the splits, ready for batches; what takes time is kept in the folder `cache`."""
        ...


@runtime_checkable
class Bucketed(Data, Protocol):
    """Data with batches of several lengths to learn from."""

    def batches_like(self, batch_size: int) -> Sequence[dict[str, jax.ShapeDtypeStruct]]:
        """Shapes of all of these batches, those of `batch_like` first."""
        ...
