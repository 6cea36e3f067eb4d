# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Predictions of a trained model: for rows of a dataset in batches, and for new examples."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import jax
import numpy as np

from saccade.data.pipeline import eval_batches
from saccade.data.split import Split
from saccade.decode.batches import PREDICTED
from saccade.types import Evaluator, Model, Params, Part, Processor, Task, UserError

Record = Mapping[str, Any]


@runtime_checkable
class Output(Protocol):
    """Protocol of the prediction for one example, such as `task.classification:PredictedClass`."""

    def record(self) -> dict[str, Any]:
        """Return the prediction as a JSON object."""
        ...

    def lines(self, inputs: Record) -> list[str]:
        """Return the prediction in words, with the inputs."""
        ...


@runtime_checkable
class Predictive(Evaluator, Protocol):
    """Protocol of a task that predicts an output for each example."""

    def outputs(self, predictions: Mapping[str, Any], split: Any) -> Iterator[Output]:
        """Yield the prediction for each example of a split, in order."""
        ...


@runtime_checkable
class Unanswered(Protocol):
    """Protocol of data that build rows from new, unlabelled examples.

    Attributes:
        inputs: names of the inputs of a record, with their columns: for example 'text' in column 'sentence'.
        example: an example value of each input.
    """

    inputs: Mapping[str, str]
    example: Mapping[str, str]

    def read(self, path: Path) -> Any:
        """Read a file of records in the format of the data's own files."""
        ...

    def unanswered(self, records: Any, names: tuple[str, ...], processor: Any) -> Split:
        """Return the rows of records; `names` are the names of the classes, if there are any."""
        ...


def require_predictive(task: Task, data: Any) -> None:
    """Check that the task predicts an output per example, and that the data accept new examples.

    Raises:
        UserError: they do not; the message names the command that serves the task.
    """
    if not isinstance(task, Predictive):
        then = list(getattr(task, 'then', {}).values())
        better = f'; it is for {then[0].partition(" {")[0]}' if then else ''
        raise UserError(f'a run of {Part(type(task)).name} predicts no class, number, tags, answer or caption{better}')
    if not isinstance(data, Unanswered):
        raise UserError(f'config.data, {Part(type(data)).name}, does not support predictions for new examples')


@dataclass(frozen=True, eq=False)
class PlacedRecords(Sequence[Record]):
    """Records with their places. Attributes: placed, pairs of a place (as named in messages) and a record."""

    placed: Sequence[tuple[str, Record]]

    def __len__(self) -> int:
        return len(self.placed)

    def __getitem__(self, index: int) -> Record:
        return self.placed[index][1]

    def place(self, index: int) -> str:
        """Return the place of a record."""
        return self.placed[index][0]


@dataclass(frozen=True, eq=False)
class Predictor:
    """Prediction for new examples by a trained model, with its training task.

    Attributes:
        task, data: as in training; the data build rows from examples.
        processor: the run's processor; for text, its tokenizer.
        names: names of the classes, if there are any.
        rows: number of examples per batch.

    Raises:
        UserError: the task or the data do not support predictions for new examples.
    """

    task: Task
    data: Any
    model: Model
    params: Params
    processor: Processor | None
    names: tuple[str, ...] = ()
    rows: int = PREDICTED

    def __post_init__(self) -> None:
        require_predictive(self.task, self.data)

    def predict(self, placed: Iterable[tuple[str, Record]]) -> Iterator[tuple[Record, Output]]:
        """Yield each input with its prediction, in order, as soon as its batch is done.

        Args:
            placed: records by the data's columns, each with its place for messages.

        Raises:
            UserError: a record lacks a column, or the processor cannot process it.
        """
        given = iter(placed)
        while some := list(itertools.islice(given, self.rows)):
            split = self.data.unanswered(PlacedRecords(some), self.names, self.processor)
            found = predictions(self.task, self.model, self.params, eval_batches(split, self.rows))
            for (_, record), output in zip(some, self.task.outputs(found, split), strict=True):
                yield {name: record[column] for name, column in self.data.inputs.items()}, output


def predictions(
    task: Evaluator, model: Model, params: Params, batches: Iterable[Mapping[str, np.ndarray]]
) -> dict[str, np.ndarray]:
    """Return the task's predictions for the rows of all batches, in order; axis 0 of each array is the rows."""
    parts: list[Any] = [jax.device_get(_predicted(task, model, params, rows)) for rows in batches]
    return jax.tree.map(lambda *arrays: np.concatenate(arrays), *parts)


@partial(jax.jit, static_argnums=(0, 1))
def _predicted(task: Any, model: Any, params: Params, rows: Any) -> Any:
    return task.predict(model, params, rows)
