# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Linear probes: logistic regression on frozen vectors of texts, from every layer of a model.

    p(c | x) = softmax(W z + b)_c,   z = (x - mean) / deviation,   loss = mean of -log p(label) + λ / 2 |W|²

Alain, Bengio 2016, "Understanding intermediate layers using linear classifier probes",
https://arxiv.org/abs/1610.01644; of sentence vectors, Conneau, Kiela 2018, "SentEval",
https://arxiv.org/abs/1803.05449. The vector of a text is the mean of a layer's outputs over its tokens. λ is chosen on
a fifth of the training texts, which is held out; then the probe is fitted to all of them. By the same accuracy one
layer of each model is chosen, so that no choice is made on validation texts. A probe shows what a linear function finds
in the vectors, not what the model uses.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import minimize
from scipy.special import log_softmax

from saccade.analysis.report.figures import Table
from saccade.data.corpus.records import Records, RecordSource, strings
from saccade.data.encoder.names import Names, class_of
from saccade.inside.probing_tasks import ProbingTask, made_from
from saccade.metric.bootstrap import MetricInterval, of_mean
from saccade.types import UserError

PENALTIES = (1e-3, 1e-2, 1e-1, 1.0)
HELD_OUT = 5  # a fifth of the training texts chooses the penalty and the layer

Vectors = Float[np.ndarray, 'N D']
Labels = Int[np.ndarray, 'N']


@dataclass(frozen=True, eq=False)
class LinearProbe:
    """Multinomial logistic regression on standardised vectors.

    Attributes: mean and deviation of each feature in the training vectors; weights, W; bias, b.
    """

    mean: Float[np.ndarray, 'D']
    deviation: Float[np.ndarray, 'D']
    weights: Float[np.ndarray, 'D C']
    bias: Float[np.ndarray, 'C']

    @classmethod
    def fit(cls, vectors: Vectors, labels: Labels, classes: int, penalty: float) -> 'LinearProbe':
        """Minimise the loss by L-BFGS. Args: classes, number of classes (C); penalty, λ."""
        vectors = vectors.astype(np.float64)
        D, hits = vectors.shape[1], np.eye(classes)[labels]
        mean, deviation = vectors.mean(axis=0), np.maximum(vectors.std(axis=0), 1e-8)
        z = (vectors - mean) / deviation

        def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
            *weights, bias = flat.reshape(D + 1, classes)
            weights = np.array(weights)
            logs = log_softmax(z @ weights + bias, axis=-1)
            away = (np.exp(logs) - hits) / len(z)
            value = -(hits * logs).sum() / len(z) + penalty / 2 * (weights**2).sum()
            return value, np.concatenate([z.T @ away + penalty * weights, away.sum(axis=0)[None]]).ravel()

        found = minimize(loss, np.zeros((D + 1) * classes), jac=True, method='L-BFGS-B')
        *weights, bias = found.x.reshape(D + 1, classes)
        return cls(mean, deviation, np.array(weights), bias)

    def predict(self, vectors: Vectors) -> Labels:
        """Return the most probable class of each vector."""
        return ((vectors - self.mean) / self.deviation @ self.weights + self.bias).argmax(axis=-1)


class ProbeResult(NamedTuple):
    """Result of a probe.

    Attributes:
        penalty: the chosen λ.
        held_out: accuracy on the held-out fifth of the training texts, by which the penalty is chosen.
        right: whether each validation text is classified correctly.
    """

    penalty: float
    held_out: float
    right: Float[np.ndarray, 'M']

    @property
    def accuracy(self) -> MetricInterval:
        """Accuracy on validation texts with its bootstrap interval."""
        return of_mean(self.right)


@dataclass(frozen=True, eq=False)
class ProbedModel:
    """Probes of a model. Attributes: its name; results by layer, from '0', the embedding."""

    name: str
    layers: Mapping[str, ProbeResult]

    @property
    def chosen(self) -> str:
        """The layer with the highest accuracy on the held-out training texts, the first of equals."""
        return max(self.layers, key=lambda layer: self.layers[layer].held_out)


@dataclass(frozen=True, eq=False)
class LabelledTexts:
    """Texts with classes. Attributes: title of the task; names of the classes; texts and labels of both splits."""

    title: str
    names: tuple[str, ...]
    train: tuple[list[str], Int[np.ndarray, 'N']]
    validation: tuple[list[str], Int[np.ndarray, 'M']]

    @classmethod
    def read(cls, records: Records, text: str, labels: str | ProbingTask) -> 'LabelledTexts':
        """Read a column of texts, and the column of their classes or a task that makes them.

        Raises:
            UserError: a text or a class is not text, a class does not occur in training, or there is only one.
        """
        texts = {split: list(strings(records.splits[split], text)) for split in ('train', 'validation')}
        if isinstance(labels, str):
            title = f'Classes of column {labels!r}'
            found = {split: (texts[split], _classes(records.splits[split], labels)) for split in texts}
        else:
            title, found = f'Task {labels.__name__!r}', made_from(labels, texts)
        names = Names(tuple(sorted({*found['train'][1]})))
        if len(names.known) < 2:
            raise UserError(f'{title}: the training texts have one class; a probe needs two or more')
        numbered = [
            (kept, names.numbers(classes, lambda index, split=split: f'{split} text {index + 1}'))
            for split, (kept, classes) in found.items()
        ]
        return cls(title, names.known, *numbered)

    @property
    def texts(self) -> list[str]:
        """Training texts, followed by validation texts."""
        return self.train[0] + self.validation[0]

    @property
    def majority(self) -> float:
        """Accuracy on validation texts of the most frequent class in training."""
        return float((self.validation[1] == np.bincount(self.train[1]).argmax()).mean())


def _classes(records: RecordSource, column: str) -> list[str]:
    return [class_of(records[index][column], column, records.place(index)) for index in range(len(records))]


def probe(name: str, layers: Mapping[str, Float[np.ndarray, 'N _']], data: LabelledTexts) -> ProbedModel:
    """Fit and measure a probe on each layer of a model. Args: vectors of `data.texts` by layer."""
    count = len(data.train[0])
    return ProbedModel(name, {layer: _probed(each[:count], each[count:], data) for layer, each in layers.items()})


def _probed(train: Vectors, validation: Float[np.ndarray, 'M D'], data: LabelledTexts) -> ProbeResult:
    labels, classes = data.train[1], len(data.names)
    order = np.random.default_rng(0).permutation(len(labels))
    some, rest = np.split(order, [max(1, len(order) // HELD_OUT)])
    probes = {penalty: LinearProbe.fit(train[rest], labels[rest], classes, penalty) for penalty in PENALTIES}
    held_out = {penalty: (each.predict(train[some]) == labels[some]).mean() for penalty, each in probes.items()}
    best = max(held_out, key=held_out.__getitem__)
    found = LinearProbe.fit(train, labels, classes, best).predict(validation) == data.validation[1]
    return ProbeResult(best, float(held_out[best]), found.astype(np.float64))


@dataclass(frozen=True, eq=False)
class Probes:
    """Probes of models on one task. Attributes: the labelled texts; the models, the first as baseline."""

    data: LabelledTexts
    models: Sequence[ProbedModel]

    def difference(self, model: ProbedModel) -> MetricInterval | None:
        """Return the accuracy of a model's chosen layer minus the first model's, paired by text; None for the first."""
        first = self.models[0]
        if model is first:
            return None
        return of_mean(model.layers[model.chosen].right - first.layers[first.chosen].right)

    def record(self) -> dict[str, Any]:
        """Return everything for JSON output."""
        return {
            'task': self.data.title,
            'classes': list(self.data.names),
            'train': len(self.data.train[0]),
            'validation': len(self.data.validation[0]),
            'majority': self.data.majority,
            'models': [
                {
                    'model': model.name,
                    'chosen': model.chosen,
                    'difference': _ends(self.difference(model)),
                    'layers': {
                        layer: {'accuracy': _ends(found.accuracy), 'held_out': found.held_out, 'penalty': found.penalty}
                        for layer, found in model.layers.items()
                    },
                }
                for model in self.models
            ],
        }

    def tables(self) -> list[Table]:
        """Return the table of all layers, and of several models that of the chosen layers."""
        rows = [
            (model.name, layer, f'{found.held_out:.3f}', _written(found.accuracy))
            for model in self.models
            for layer, found in model.layers.items()
        ]
        columns = ('model', 'layer', 'accuracy, held out of training', 'accuracy, validation [95%]')
        title = (
            f'{self.data.title}: {len(self.data.train[0]):,} training and {len(self.data.validation[0]):,} validation '
            f'texts, {len(self.data.names)} classes; the most frequent class has {self.data.majority:.3f}'
        )
        layers = Table(title, columns, rows)
        if len(self.models) == 1:
            return [layers]
        chosen = [
            (
                model.name,
                model.chosen,
                _written(model.layers[model.chosen].accuracy),
                _written(self.difference(model), sign='+'),
            )
            for model in self.models
        ]
        columns = ('model', 'layer', 'accuracy, validation [95%]', f'minus {self.models[0].name} [95%]')
        return [layers, Table('Layers chosen on the texts held out of training', columns, chosen)]


def _ends(found: MetricInterval | None) -> list[float] | None:
    return None if found is None else [found.value, found.low, found.high]


def _written(found: MetricInterval | None, sign: str = '') -> str:
    return '' if found is None else f'{found.value:{sign}.3f} [{found.low:{sign}.3f}, {found.high:{sign}.3f}]'
