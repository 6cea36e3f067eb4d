# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Protocols of datasets."""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import jax


@runtime_checkable
class Data(Protocol):
    """Dataset, with a tokenizer and splits, from which batches are made."""

    context_length: int

    def batch_like(self, batch_size: int) -> dict[str, jax.ShapeDtypeStruct]:
        """Return the shapes and dtypes of a batch, which are known before any data is loaded."""
        ...

    def prepare(self, cache: Any, tokenizer: Any = None) -> Any:
        """Return the tokenizer and the splits, ready for batches; what takes time is kept in the folder `cache`."""
        ...


@runtime_checkable
class Bucketed(Data, Protocol):
    """Dataset with training batches of several lengths (length bucketing)."""

    def batches_like(self, batch_size: int) -> Sequence[dict[str, jax.ShapeDtypeStruct]]:
        """Return the shapes and dtypes of all of these batches, those of `batch_like` first."""
        ...
