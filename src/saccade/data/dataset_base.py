# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of the datasets: open the source, take or train a tokenizer, tokenise into the cache once, make rows."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
import numpy as np

from saccade.data.cache import digest, explained, kept, read_arrays, trained, write_arrays
from saccade.data.rows.frame import Frame
from saccade.data.split import Prepared, Split
from saccade.data.tokenizer.file import open_tokenizer
from saccade.data.tokenizer.tokenizer import Tokenizer
from saccade.data.tokenizer.trainer import Trainer
from saccade.types import Part

_FORMAT = 2  # part of the cache key: another number wherever the arrays of a dataset or their meaning change

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

    Attributes:
        tokenizer: how to train the tokenizer.
        context_length: tokens of a row.
    """

    tokenizer: Part[Trainer]
    context_length: int

    _columns: tuple[str, ...] = ()  # those that are tokenised, where there are columns

    @abstractmethod
    def batch_like(self, batch_size: int) -> dict[str, jax.ShapeDtypeStruct]:
        """Return the shapes of a batch, known before any data is read."""

    def prepare(self, cache: Path, tokenizer: Path | None = None) -> Prepared:
        """Tokenise the dataset, or find that done in the cache, and make rows of it.

        Args:
            cache: folder that outlives the run; two processes may prepare the same data in it at once.
            tokenizer: a tokenizer.json or a vocab.txt to use; None: train one on the training split, once for each
                dataset and specification.

        Raises:
            UserError: the dataset cannot be read, is empty, or is not as it must be; the tokenizer lacks a special
                token or a character; a split has nothing to predict; the cache cannot be written.
        """
        cache = Path(cache)
        with explained(cache):
            source = self._open(cache)
            used = open_tokenizer(tokenizer) if tokenizer else self._trained(source, cache)
            frame = self.frame(used)  # before anything is tokenised: it refuses a tokenizer
            name = digest(_FORMAT, source.digest, used.digest, self._key)
            folder = kept(cache / name, lambda new: self._write(source, used, new))
            arrays = {name: read_arrays(folder / name) for name in source.splits}
        return Prepared(used, self._splits(arrays, source, frame, used), source.facts())

    def frame(self, tokenizer: Tokenizer) -> Any:
        """Return how texts stand in a row, with the special tokens of a tokenizer.

        Raises:
            UserError: it lacks one.
        """
        return Frame.of(tokenizer, self.context_length)

    @property
    @abstractmethod
    def _key(self) -> Any:
        """The cache key of the arrays, besides the source and the tokenizer: whatever else decides them."""

    @abstractmethod
    def _open(self, cache: Path) -> Source:
        """Open what the dataset is made from."""

    def _trained(self, source: Source, cache: Path) -> Tokenizer:
        corpus = digest(source.digest, self._columns)
        return trained(self.tokenizer, lambda: self._texts(source.splits['train']), corpus, cache)

    @abstractmethod
    def _texts(self, examples: Any) -> Iterable[str]:
        """What to train the tokenizer on, of the examples of a split."""

    def _write(self, source: Source, tokenizer: Tokenizer, folder: Path) -> None:
        """Write the arrays of each split into a folder named after it."""
        for name, arrays in self._arrays(source, tokenizer).items():
            write_arrays(folder / name, arrays)

    def _arrays(self, source: Source, tokenizer: Tokenizer) -> BySplit:
        """Make the arrays of each split, where they can be held in memory."""
        raise NotImplementedError

    @abstractmethod
    def _splits(self, arrays: BySplit, source: Source, frame: Any, tokenizer: Tokenizer) -> dict[str, Split]:
        """Make rows on the arrays of each split."""
