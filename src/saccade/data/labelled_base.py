# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Bases of the datasets of labelled examples that are no texts: images, sounds, frames and graphs."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Int

from saccade.data.cache import digest
from saccade.data.corpus.record_files import FileRecords, read_records
from saccade.data.corpus.records import RecordSource, resolved, strings
from saccade.data.dataset_base import BySplit, DatasetBase, DatasetSource
from saccade.data.processor_base import ProcessorBase
from saccade.data.split import Split
from saccade.paths import expanded
from saccade.types import IGNORED, Model, Part


@dataclass(frozen=True, eq=False)
class Labelled:
    """Labelled examples of a split. Attributes: examples; labels, the class of each; names of the classes."""

    examples: Sized
    labels: Int[np.ndarray, 'examples']
    names: tuple[str, ...]

    @classmethod
    def unknown(cls, examples: Sized, names: tuple[str, ...]) -> 'Labelled':
        """Return examples whose classes are not known."""
        return cls(examples, np.full(len(examples), IGNORED, np.int32), names)

    def __len__(self) -> int:
        return len(self.labels)


class LabelledBase(DatasetBase):
    """Base of a dataset of labelled examples. Attributes: processes, the class of the processor."""

    processes: ClassVar[type[ProcessorBase]]

    def open_processor(self, folder: Path) -> ProcessorBase | None:
        """Open the processor in a run's folder or a Hugging Face directory; None where there is none.

        Raises:
            UserError: its file is damaged.
        """
        return self.processes.load(folder)

    def require_model(self, model: Part[Model], processor: ProcessorBase | None) -> None:
        """Refuse the processor of a model that was trained on other examples than the data are said to have."""
        if processor is not None:
            self.frame(processor)


class LabelledFilesBase(LabelledBase):
    """Base of a dataset whose examples are files, or are drawn when they are asked for.

    Attributes: processor; inputs, the column with the path of a file.
    """

    processor: Part[ProcessorBase]
    inputs: ClassVar[Mapping[str, str]]

    def __post_init__(self) -> None:
        self.processor()  # refused before any data is read

    def read(self, path: Path) -> FileRecords:
        """Read a file of records, each with the path of an example, relative to the folder of the file."""
        (column,) = self.inputs.values()
        return resolved(read_records(path, (column,)), column)

    def unanswered(self, records: RecordSource, names: tuple[str, ...], processor: ProcessorBase) -> Split:
        """Return the rows of files whose classes are unknown. Args: names, of the classes.

        Raises:
            UserError: a file cannot be read, or the processor refuses it.
        """
        (column,) = self.inputs.values()
        files = self._files([expanded(path) for path in strings(records, column)])
        return self._split(Labelled.unknown(files, names), processor)

    @abstractmethod
    def _files(self, paths: Sequence[Path]) -> Sized:
        """Return the examples in files."""

    @abstractmethod
    def _labelled(self, cache: Path) -> tuple[Mapping[str, Labelled], Any]:
        """Return the examples of each split, and what changes with them."""

    @abstractmethod
    def _split(self, found: Labelled, processor: ProcessorBase) -> Split:
        """Make rows of labelled examples."""

    def _open(self, cache: Path) -> DatasetSource:
        splits, changes = self._labelled(cache)
        return DatasetSource(splits, digest(type(self).__name__, changes))

    def _arrays(self, source: DatasetSource, processor: ProcessorBase) -> BySplit:
        return {name: {'labels': np.asarray(found.labels, np.int32)} for name, found in source.splits.items()}

    def _splits(self, arrays: BySplit, source: DatasetSource, frame: Any, processor: ProcessorBase) -> dict[str, Split]:
        return {name: self._split(found, processor) for name, found in source.splits.items()}
