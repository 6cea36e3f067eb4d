# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Predictions of a trained model: for rows of a dataset batch by batch, and for new examples."""

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
        """Return it as one JSON object."""
        ...

    def lines(self, inputs: Record) -> list[str]:
        """Return it in words, next to the inputs it was predicted for."""
        ...


@runtime_checkable
class Predictive(Evaluator, Protocol):
    """Protocol of a task that makes a prediction for each example."""

    def outputs(self, predictions: Mapping[str, Any], split: Any) -> Iterator[Output]:
        """Yield what is predicted of each example of a split, in their order."""
        ...


@runtime_checkable
class Unanswered(Protocol):
    """Protocol of data that make the rows of new examples, whose labels are not known.

    Attributes:
        inputs: the inputs of a record, each with its column: 'text', say, in the column 'sentence'.
        example: one of each.
    """

    inputs: Mapping[str, str]
    example: Mapping[str, str]

    def read(self, path: Path) -> Any:
        """Read a file of records in the format that the data's own have."""
        ...

    def unanswered(self, records: Any, names: tuple[str, ...], processor: Any) -> Split:
        """Return the rows of records; `names` are those of the classes, if there are any."""
        ...


def require_predictive(task: Task, data: Any) -> None:
    """Refuse a task that predicts nothing of an example, and data that make no rows of new ones.

    Raises:
        UserError: the task or the data are of another kind; the command that serves the task is named.
    """
    if not isinstance(task, Predictive):
        then = list(getattr(task, 'then', {}).values())
        better = f'; it is for {then[0].partition(" {")[0]}' if then else ''
        raise UserError(f'a run of {Part(type(task)).name} predicts no class, number, tags or answer{better}')
    if not isinstance(data, Unanswered):
        raise UserError(f'config.data, {Part(type(data)).name}, makes no rows of new examples to predict for')


@dataclass(frozen=True, eq=False)
class PlacedRecords(Sequence[Record]):
    """Records with their places. Attributes: records, each with the place where it stands."""

    placed: Sequence[tuple[str, Record]]

    def __len__(self) -> int:
        return len(self.placed)

    def __getitem__(self, index: int) -> Record:
        return self.placed[index][1]

    def place(self, index: int) -> str:
        """Where a record stands."""
        return self.placed[index][0]


@dataclass(frozen=True, eq=False)
class Predictor:
    """Prediction for new examples by a trained model, with the task it was trained for.

    Attributes:
        task, data: those that it was trained by; the data say how an example becomes rows.
        processor: that of the run; for text, its tokenizer.
        names: of the classes, if there are any.
        rows: examples in a batch.

    Raises:
        UserError: it was trained to do something else; what does that is named.
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
        """Yield each input with what is predicted of it, in their order and as soon as those read with it are.

        Args:
            placed: records by the data's columns, each with the place that a message is to name.

        Raises:
            UserError: a record does not have what is read, or the processor cannot process it.
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
    """Return what the task predicts of the rows of all batches, in order; axis 0 of each array is the rows."""
    parts: list[Any] = [jax.device_get(_predicted(task, model, params, rows)) for rows in batches]
    return jax.tree.map(lambda *arrays: np.concatenate(arrays), *parts)


@partial(jax.jit, static_argnums=(0, 1))
def _predicted(task: Any, model: Any, params: Params, rows: Any) -> Any:
    return task.predict(model, params, rows)
