# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Protocols of datasets: what training, evaluation and trained runs need of them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import jax

from saccade.types.model import Model
from saccade.types.part import Part


@runtime_checkable
class Processor(Protocol):
    """Processor: turns the examples of a dataset into arrays, and is kept with a run. A tokenizer is one.

    Its files are named *tokenizer.json, *tokenizer_config.json or *processor.json. `digest` changes whenever it makes
    other arrays.
    """

    @property
    def digest(self) -> str:
        """Return what changes whenever it makes other arrays."""
        ...

    def save(self, folder: Path) -> None:
        """Write its files into a folder, each whole or not at all."""
        ...


@runtime_checkable
class Split(Protocol):
    """Split of prepared data: rows with random access, and what is measured on them.

    Attributes:
        rows: a sequence of rows of the same shapes; its `padding()` is a row of which nothing counts.
        targets: what is predicted, as many as there are of `unit`.
        unit: what a target is, in the plural.
        buckets: the rows by their length, for batches of one length each; empty to take them as they are.
    """

    rows: Any
    targets: int
    unit: str
    buckets: tuple[Any, ...]

    def derived(self, metrics: Mapping[str, float]) -> dict[str, float]:
        """Return metrics that follow from the means of the whole split, by name."""
        ...


@runtime_checkable
class Prepared(Protocol):
    """Prepared data: the processor that made them, None where none was needed, and the splits by name.

    `source` tells the data that they were made of from other data, in JSON's types; 'digest' is among it.
    """

    processor: Processor | None
    splits: Mapping[str, Split]
    source: Mapping[str, Any]


@runtime_checkable
class Data(Protocol):
    """Dataset with splits, from which batches are made, and a processor.

    Its class may have `reports`, declarations of the metrics that `Split.derived` returns.
    """

    context_length: int

    def batch_like(self, batch_size: int) -> dict[str, jax.ShapeDtypeStruct]:
        """Return the shapes and dtypes of a batch, which are known before any data is loaded."""
        ...

    def open_processor(self, folder: Path) -> Processor | None:
        """Open the processor in a run's folder or a Hugging Face directory; None where there is none."""
        ...

    def require_model(self, model: Part[Model], processor: Processor | None) -> None:
        """Refuse a model that cannot take what the processor makes; None for the one that will be made."""
        ...

    def prepare(self, cache: Path, processor: Processor | None = None) -> Prepared:
        """Return splits ready for batches; what takes time is kept in the folder `cache`.

        Args:
            processor: the one to use; None to make it from the training split.
        """
        ...


@runtime_checkable
class Bucketed(Data, Protocol):
    """Dataset with training batches of several lengths (length bucketing)."""

    def batches_like(self, batch_size: int) -> Sequence[dict[str, jax.ShapeDtypeStruct]]:
        """Return the shapes and dtypes of all of these batches, those of `batch_like` first."""
        ...
