# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of the datasets: open the source, take or make a processor, write arrays into the cache once, make rows."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
import numpy as np

from saccade.data.cache import digest, explained, kept, read_arrays, write_arrays
from saccade.data.split import Prepared, Split
from saccade.types import Model, Part, Processor

_FORMAT = 3  # part of the cache key: another number wherever the arrays of a dataset or their meaning change

Arrays = Mapping[str, np.ndarray]
BySplit = Mapping[str, Arrays]


@dataclass(frozen=True, eq=False)
class Source:
    """Source of a dataset: its examples by split.

    Attributes:
        splits: the examples by split: 'train', 'validation', then those of tests.
        digest: changes whenever an example or its split does.
        versions: of what the examples were read from, by name, where they change with it.
    """

    splits: Mapping[str, Any]
    digest: str
    versions: Mapping[str, str] = field(default_factory=dict, kw_only=True)

    def facts(self) -> dict[str, Any]:
        """What tells it from other data: the digest; and in numbers and names that may say how they differ."""
        examples = {f'{name} examples': len(examples) for name, examples in self.splits.items()}
        return {'digest': self.digest, **examples, **self.versions}


class DatasetBase(ABC):
    """Base of a dataset; a subclass is a dataclass and gives the steps of `prepare`.

    Attributes: context_length, places of a row.
    """

    context_length: int

    @abstractmethod
    def batch_like(self, batch_size: int) -> dict[str, jax.ShapeDtypeStruct]:
        """Return the shapes of a batch, known before any data is read."""

    @abstractmethod
    def open_processor(self, folder: Path) -> Processor | None:
        """Open the processor in a run's folder or a Hugging Face directory; None where there is none."""

    @abstractmethod
    def require_model(self, model: Part[Model], processor: Processor | None) -> None:
        """Refuse a model that cannot take what the processor makes; None for the one that will be made."""

    def prepare(self, cache: Path, processor: Any = None) -> Prepared:
        """Process the dataset, or find that done in the cache, and make rows of it.

        Args:
            cache: folder that outlives the run; two processes may prepare the same data in it at once.
            processor: the one to use; None: make one from the training split, once for each dataset and
                specification.

        Raises:
            UserError: the dataset cannot be read, is empty, or is not as it must be; the processor does not serve it;
                a split has nothing to predict; the cache cannot be written.
        """
        cache = Path(cache)
        with explained(cache):
            source = self._open(cache)
            used = self._make_processor(source, cache) if processor is None else processor
            frame = self.frame(used)  # before anything is written: it refuses a processor
            name = digest(_FORMAT, source.digest, used.digest, self._key)
            folder = kept(cache / name, lambda new: self._write(source, used, new))
            arrays = {name: read_arrays(folder / name) for name in source.splits}
        return Prepared(used, self._splits(arrays, source, frame, used), source.facts())

    @abstractmethod
    def frame(self, processor: Any) -> Any:
        """Return how examples stand in a row.

        Raises:
            UserError: the processor does not serve the dataset.
        """

    @property
    @abstractmethod
    def _key(self) -> Any:
        """The cache key of the arrays, besides the source and the processor: whatever else decides them."""

    @abstractmethod
    def _open(self, cache: Path) -> Source:
        """Open what the dataset is made from."""

    @abstractmethod
    def _make_processor(self, source: Source, cache: Path) -> Any:
        """Make the processor from the training split, or find it in the cache."""

    def _write(self, source: Source, processor: Any, folder: Path) -> None:
        """Write the arrays of each split into a folder named after it."""
        for name, arrays in self._arrays(source, processor).items():
            write_arrays(folder / name, arrays)

    def _arrays(self, source: Source, processor: Any) -> BySplit:
        """Make the arrays of each split, where they can be held in memory."""
        raise NotImplementedError

    @abstractmethod
    def _splits(self, arrays: BySplit, source: Source, frame: Any, processor: Any) -> dict[str, Split]:
        """Make rows on the arrays of each split."""
