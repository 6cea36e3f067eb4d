# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Text regression: predict a number for a text or a pair of texts.

    loss = mean over rows of (prediction - value)²

BERT rates the similarity of two sentences this way: Devlin et al. 2019, section 4.1, https://arxiv.org/abs/1810.04805.
The prediction for a text of several rows is the mean over its rows.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from saccade.metric.correlation import correlated
from saccade.task.base import Forward, ReadsHead, by_example
from saccade.types import Batch, EncoderModel, Estimate, Metric, Params, Total, UserError

__all__ = ['Regression', 'mean']


@dataclass(frozen=True)
class PredictedNumber:
    """Predicted number. Attributes: value, in the unit of the training values."""

    value: float

    def record(self) -> dict[str, Any]:
        """Return the number as a JSON object."""
        return {'value': self.value}

    def lines(self, inputs: Mapping[str, Any]) -> list[str]:
        """Return one line: the number and the text or texts."""
        return [f'{self.value:z.4f}  {"  |  ".join(inputs.values())}']


@dataclass(frozen=True)
class Regression(ReadsHead):
    """Text regression with the head 'pooled', which has one class."""

    architecture: ClassVar[str] = 'ForSequenceClassification'
    problem_type: ClassVar[str] = 'regression'
    heads: ClassVar[Mapping[str, tuple[str, ...]]] = {'': ('pooled',)}
    reads: ClassVar[tuple[str, ...]] = ('segments', 'positions', 'value', 'example')
    reports: ClassVar[tuple[Metric, ...]] = (Metric('loss', 'lowest', 0.0),)
    evaluates: ClassVar[tuple[Metric, ...]] = correlated.reports
    bare: ClassVar[str] = 'squared_error'
    then: ClassVar[dict[str, str]] = {'say a number': 'launch/predict.py {inputs}'}

    def totals(self, forward: Forward, batch: Batch) -> dict[str, Total]:
        """Return totals over rows: `loss` in squares of the values' unit."""
        return {'loss': squared_error(self.predicted(forward, batch), batch['value'])}

    def predict(self, model: EncoderModel, params: Params, batch: Batch) -> dict[str, Array]:
        """Return the prediction of each row as its one logit, its example and its value."""
        logits = self.predicted(Forward(model, params), batch)
        return {'logits': logits, 'example': batch['example'], 'value': batch['value']}

    def outputs(self, predictions: Mapping[str, np.ndarray], split: Any) -> Iterator[PredictedNumber]:
        """Yield the prediction for each example."""
        logits, _ = by_example(predictions)
        return map(PredictedNumber, logits[:, 0].tolist())

    def evaluate(self, predictions: Mapping[str, np.ndarray], split: Any) -> dict[str, Estimate]:
        """Return metrics over whole examples."""
        logits, first = by_example(predictions)
        return correlated(predictions['value'][first], logits[:, 0])

    def predicted(self, forward: Forward, batch: Batch) -> Float[Array, 'B 1']:
        """Return the prediction for each row.

        Raises:
            UserError: the head does not return one number per row.
        """
        logits = self.read(forward, batch)
        if logits.shape[-1] != 1:
            raise UserError(f'config.model.heads.pooled.classes: a regression needs 1, not {logits.shape[-1]}')
        return logits


def squared_error(predicted: Float[Array, 'B 1'], values: Float[Array, 'B']) -> Total:
    """Return the total over the rows that have a value."""
    errors, count = errors_of(predicted, values)
    return Total((errors**2).sum(), count)


def errors_of(predicted: Float[Array, 'B 1'], values: Float[Array, 'B']) -> tuple[Float[Array, 'B'], Float[Array, '']]:
    """Return prediction minus value, 0 for rows without a value, and the number of rows that have one."""
    numbers, there = predicted[:, 0].astype(jnp.float32), ~jnp.isnan(values)
    errors = jnp.where(there, numbers - jnp.where(there, values, 0.0), 0.0)
    return errors, there.sum().astype(jnp.float32)


def mean(train: Any, validation: Any, vocabulary: int | None, /) -> dict[str, float]:
    """Return metrics of a baseline that says the mean of the training values of every text."""
    values, predicted = validation.answers, np.full(len(validation.answers), train.answers.mean())
    measured = {name: each.value for name, each in correlated(values, predicted).items()}
    return {'loss': measured['mean_squared_error'], **measured}
