# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of the datasets: open the source, open or make a processor, write arrays into the cache once, build rows."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
import numpy as np

from saccade.data.cache import cached, digest, explained, read_arrays, write_arrays
from saccade.data.split import Prepared, Split
from saccade.types import Model, Part, Processor

_FORMAT = 4  # part of the cache key; increase it when the arrays of a dataset or their meaning change

Arrays = Mapping[str, np.ndarray]
BySplit = Mapping[str, Arrays]


@dataclass(frozen=True, eq=False)
class DatasetSource:
    """Source of a dataset: its examples by split.

    Attributes:
        splits: examples by split: 'train', 'validation', then test splits.
        digest: changes with any example or its split.
        versions: versions of the source, by name, if the examples depend on them.
    """

    splits: Mapping[str, Any]
    digest: str
    versions: Mapping[str, str] = field(default_factory=dict, kw_only=True)

    def facts(self) -> dict[str, Any]:
        """Return facts that identify the data: the digest, and numbers and versions that may explain a difference."""
        examples = {f'{name} examples': len(examples) for name, examples in self.splits.items()}
        return {'digest': self.digest, **examples, **self.versions}


class DatasetBase(ABC):
    """Base of a dataset; a subclass is a dataclass and implements the steps of `prepare`.

    Attributes: context_length, number of positions in a row.
    """

    context_length: int

    @abstractmethod
    def batch_like(self, batch_size: int) -> dict[str, jax.ShapeDtypeStruct]:
        """Return the shapes of a batch, which do not depend on data."""

    @abstractmethod
    def open_processor(self, folder: Path) -> Processor | None:
        """Open the processor in a run's folder or a Hugging Face directory; None if there is none."""

    @abstractmethod
    def require_model(self, model: Part[Model], processor: Processor | None) -> None:
        """Check that a model fits the processor; None is the processor that `prepare` will make."""

    def prepare(self, cache: Path, processor: Any = None) -> Prepared:
        """Process the dataset, or load it from the cache, and build rows.

        Args:
            cache: persistent folder; several processes may prepare the same data in it at once.
            processor: processor to use; None makes one from the training split, once per dataset and specification.

        Raises:
            UserError: the dataset cannot be read, is empty or invalid; the processor does not suit it; a split has no
                targets; the cache cannot be written.
        """
        cache = Path(cache)
        with explained(cache):
            source = self._open(cache)
            used = self._make_processor(source, cache) if processor is None else processor
            splits = self.splits_of(source, used, cache)
        return Prepared(used, splits, source.facts())

    def splits_of(self, source: DatasetSource, processor: Any, cache: Path) -> dict[str, Split]:
        """Process an opened source, or load it from the cache, and build rows.

        Raises:
            UserError: as for `prepare`.
        """
        frame = self.frame(processor)  # before writing, since it checks the processor
        name = digest(_FORMAT, source.digest, processor.digest, self._key)
        folder = cached(cache / name, lambda new: self._write(source, processor, new))
        arrays = {name: read_arrays(folder / name) for name in source.splits}
        return self._splits(arrays, source, frame, processor)

    @abstractmethod
    def frame(self, processor: Any) -> Any:
        """Return the row layout.

        Raises:
            UserError: the processor does not suit the dataset.
        """

    @property
    @abstractmethod
    def _key(self) -> Any:
        """Cache key of the arrays in addition to the source and the processor: all other settings that affect them."""

    @abstractmethod
    def _open(self, cache: Path) -> DatasetSource:
        """Open the source of the dataset."""

    @abstractmethod
    def _make_processor(self, source: DatasetSource, cache: Path) -> Any:
        """Make the processor from the training split, or load it from the cache."""

    def _write(self, source: DatasetSource, processor: Any, folder: Path) -> None:
        """Write the arrays of each split into a folder named after it."""
        for name, arrays in self._arrays(source, processor).items():
            write_arrays(folder / name, arrays)

    def _arrays(self, source: DatasetSource, processor: Any) -> BySplit:
        """Return the arrays of each split, if they fit in memory."""
        raise NotImplementedError

    def _splits(self, arrays: BySplit, source: DatasetSource, frame: Any, processor: Any) -> dict[str, Split]:
        """Build rows from the arrays of each split, if the source has arrays of its own."""
        raise NotImplementedError
