# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Protocols of datasets for training, evaluation and trained runs."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import jax

from saccade.types.model import Model
from saccade.types.part import Part


@runtime_checkable
class Processor(Protocol):
    """Processor, such as a tokenizer: maps the examples of a dataset to arrays; saved with a run.

    Its files are named *tokenizer.json, *tokenizer_config.json or *processor.json. `digest` changes whenever the arrays
    change.
    """

    @property
    def digest(self) -> str:
        """Return a digest that changes whenever the arrays change."""
        ...

    def save(self, folder: Path) -> None:
        """Write its files to a folder, each atomically."""
        ...


@runtime_checkable
class Split(Protocol):
    """Split of prepared data: rows with random access, and their targets.

    Attributes:
        rows: a sequence of rows of the same shapes; its `padding()` returns a row without targets.
        targets: number of prediction targets.
        unit: name of the targets, in the plural.
        buckets: rows by length, for batches of one length each; empty without bucketing.
    """

    rows: Any
    targets: int
    unit: str
    buckets: tuple[Any, ...]

    def derived(self, metrics: Mapping[str, float]) -> dict[str, float]:
        """Return metrics derived from the means of the whole split, by name."""
        ...


@runtime_checkable
class Prepared(Protocol):
    """Prepared data: the processor, None if there is none, and the splits by name.

    `source` identifies the source data, in JSON types; it includes 'digest'.
    """

    processor: Processor | None
    splits: Mapping[str, Split]
    source: Mapping[str, Any]


@runtime_checkable
class Data(Protocol):
    """Dataset with splits, which provide batches, and a processor.

    Its class can have `reports`, declarations of the metrics that `Split.derived` returns.
    """

    context_length: int

    def batch_like(self, batch_size: int) -> dict[str, jax.ShapeDtypeStruct]:
        """Return the shapes and dtypes of a batch, known before any data is loaded."""
        ...

    def open_processor(self, folder: Path) -> Processor | None:
        """Open the processor in a run's folder or a Hugging Face directory; None if there is none."""
        ...

    def require_model(self, model: Part[Model], processor: Processor | None) -> None:
        """Raise an error if the model does not fit the processor; None for the processor that will be created."""
        ...

    def prepare(self, cache: Path, processor: Processor | None = None) -> Prepared:
        """Return splits ready for batches; slow steps are cached in the folder `cache`.

        Args:
            processor: processor to use; None to create it from the training split.
        """
        ...


@runtime_checkable
class AnyLength(Data, Protocol):
    """Dataset of generated pairs whose lengths can be chosen. Attributes: source_context_length."""

    source_context_length: int

    @classmethod
    def at_length(cls, part: Part, length: int) -> Part:
        """Return the config of the same data with sources and targets of exactly `length` tokens in validation."""
        ...


@runtime_checkable
class Bucketed(Data, Protocol):
    """Dataset with training batches of several lengths (length bucketing)."""

    def batches_like(self, batch_size: int) -> Sequence[dict[str, jax.ShapeDtypeStruct]]:
        """Return the shapes and dtypes of the batches of every length, that of `batch_like` first."""
        ...
