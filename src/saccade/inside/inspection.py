# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Attention patterns by head (entropy, distance, weight on the token itself and before), and gradient norms by layer.

The measures are in `measures.py`, over the queries of a batch; cross-attention has only an entropy, since its
keys come from another sequence. For linear attention, retention and the delta rule the weights are implicit
(`ops/implied.py`).
"""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, PyTree

from saccade.analysis.report.figures import MeasurementReport, Table
from saccade.data.pipeline import eval_batches, train_batches
from saccade.data.split import Prepared
from saccade.inside.measures import distance, entropy, weight_on
from saccade.layer_paths import IN_A_STACK, layer_numbers
from saccade.task.base import Forward, TaskBase
from saccade.train.digests import prepare, prepare_again
from saccade.train.experiment import Experiment
from saccade.train.optimizer import path_of
from saccade.train.trained import Trained, config_of, open_run
from saccade.train.workdir import Workdir
from saccade.types import Batch, Params, Part, UserError


@dataclass(frozen=True)
class LayerNorms:
    """Gradient and parameter norms of a layer.

    Attributes: gradient, the L2 norm of the gradient of the mean loss; parameters, the L2 norm of the parameters.
    """

    name: str
    gradient: float
    parameters: float


@dataclass(frozen=True)
class HeadPattern:
    """Attention pattern of a head.

    Attributes: layer and head, from 0; entropy in nats; distance in tokens, and the shares on the token itself and on
    the previous one: None for cross-attention; the tower, '' if there is only one; the branch of the block, 'mixer' or
    'cross'.
    """

    layer: int
    head: int
    entropy: float
    distance: float | None = None
    itself: float | None = None
    previous: float | None = None
    tower: str = ''
    branch: str = 'mixer'

    @property
    def where(self) -> str:
        """Return the layer's name among the activations, such as `layers.0`, with the branch if it is no mixer."""
        return '.'.join(filter(None, (self.tower, f'layers.{self.layer}', self.branch.replace('mixer', ''))))


def inspect_run(workdir: str) -> MeasurementReport:
    """Inspect a trained model on the first validation batch.

    Raises:
        UserError: there is no run in this folder, or its data are missing.
    """
    experiment, trained, (batch,) = first_batches(workdir)
    layers, heads = inspect(experiment, trained.params, batch)
    return _report(f'{workdir} at step {trained.step}', layers, heads)


def first_batches(workdir: str, count: int = 1, which: str = 'latest') -> tuple[Experiment, Trained, list[Batch]]:
    """Return a run's experiment, its trained model, and the first validation batches.

    Raises:
        UserError: there is no run in this folder, or its data are missing.
    """
    folder = Workdir.existing(workdir)
    experiment = Experiment.of(config_of(folder))
    prepared = prepare_again(folder, experiment)
    batches = itertools.islice(eval_batches(prepared.splits['validation'], experiment.batch_size), count)
    return experiment, open_run(workdir, which), list(batches)


def training_batches(workdir: str) -> Iterator[Batch]:
    """Yield a run's training batches, endlessly, as its training did.

    Raises:
        UserError: there is no run in this folder, or its data are missing.
    """
    folder = Workdir.existing(workdir)
    experiment = Experiment.of(config_of(folder))
    train = prepare_again(folder, experiment).splits['train']
    return train_batches(train, experiment.batch_size, experiment.seed, 0)


def inspect_config(config: Mapping[str, Any], name: str) -> MeasurementReport:
    """Inspect a model with its initial weights.

    Raises:
        UserError: the config does not fit itself or the data.
    """
    experiment = Experiment.of(config)
    prepared = prepare(experiment.data())
    experiment.data().require_model(experiment.model, prepared.processor)
    batch = _first_batch(experiment, prepared)
    params = experiment.task().init(experiment.model(), jax.random.key(experiment.seed), batch)
    layers, heads = inspect(experiment, params, batch)
    return _report(f'{name} before training', layers, heads)


def inspect(experiment: Experiment, params: Params, batch: Batch) -> tuple[list[LayerNorms], list[HeadPattern]]:
    """Return the layers, and the heads of layers with explicit or implicit attention weights, in float32.

    Raises:
        UserError: the task is not a TaskBase.
    """
    gradient, weights = watched(experiment, params, batch)
    grown, own = _norms(gradient), _norms(params)
    return [LayerNorms(name, grown[name], own[name]) for name in own], list(_heads(weights))


def watched(experiment: Experiment, params: Params, batch: Batch) -> tuple[Params, PyTree]:
    """Return the gradient of the mean loss, and the attention weights of layers by their path.

    Raises:
        UserError: the task is not a TaskBase.
    """
    task, model = experiment.task(), experiment.model()
    if not isinstance(task, TaskBase):
        raise UserError(
            f'config.task: {Part(type(task)).name} is not a task.base:TaskBase, so its model cannot be inspected'
        )

    @jax.jit
    def run(params: Params, batch: Batch) -> tuple[Params, PyTree]:
        def loss(params: Params) -> tuple[Array, PyTree]:
            forward = Forward(model, params, collections=('pattern',))
            totals = task.with_reports(task.totals(forward, batch), forward)
            weights = forward.reports.get('pattern', {})
            return totals['loss'].mean(), weights.get('', weights)

        return jax.grad(loss, has_aux=True)(params)

    return run(params, batch)


def _norms(tree: Params) -> dict[str, float]:
    """Return the L2 norm of each part outside the layers, by its name, and then of each layer, by its number."""
    outside = [(path, leaf) for path, leaf in _leaves(tree) if not IN_A_STACK.match(path)]
    parts = [(path.partition('/')[0], leaf) for path, leaf in outside]
    parts += [('.'.join(filter(None, (tower, f'layers.{number}'))), leaf) for tower, number, _, leaf in by_layer(tree)]
    squares: dict[str, float] = {}
    for name, leaf in parts:
        squares[name] = squares.get(name, 0.0) + float(np.square(np.asarray(leaf, np.float64)).sum())
    return {name: square**0.5 for name, square in squares.items()}


def _heads(weights: PyTree) -> Iterator[HeadPattern]:
    for tower, number, branch, one in by_layer(weights):
        one = np.asarray(one, np.float32)
        measured = {'entropy': entropy(one)}
        if branch != 'cross':
            itself, previous = (np.eye(*one.shape[-2:], offset, dtype=bool) for offset in (0, -1))
            measured |= {
                'distance': distance(one),
                'itself': weight_on(one, itself),
                'previous': weight_on(one, previous),
            }
        for head in range(one.shape[-3]):
            own = {name: float(values[head]) for name, values in measured.items()}
            yield HeadPattern(number, head, **own, tower=tower, branch=branch)


def by_layer(tree: PyTree) -> list[tuple[str, int, str, Array]]:
    """Return leaves split into layers: the tower, the number of the layer from 0, the branch, and the slice."""
    numbers = layer_numbers(tree)
    parts = (
        (found['tower'], number - 1, found['rest'].partition('/')[0], part)
        for path, leaf in _leaves(tree)
        if (found := IN_A_STACK.match(path))
        for number, part in zip(numbers[found['tower']][found['group']], leaf, strict=True)
    )
    ordered = sorted(parts, key=lambda part: (list(numbers).index(part[0]), part[1]))
    return [(tower or '', *rest) for tower, *rest in ordered]


def _leaves(tree: PyTree) -> list[tuple[str, Array]]:
    return [(path_of(path), leaf) for path, leaf in jax.tree_util.tree_leaves_with_path(tree)]


def _first_batch(experiment: Experiment, prepared: Prepared) -> Batch:
    return next(eval_batches(prepared.splits['validation'], experiment.batch_size))


def _report(what: str, layers: list[LayerNorms], heads: list[HeadPattern]) -> MeasurementReport:
    of_layers = [(layer.name, f'{layer.gradient:.3g}', f'{layer.parameters:.3g}') for layer in layers]
    of_heads = [
        (
            head.where,
            str(head.head),
            f'{head.entropy:z.2f}',
            _shown(head.distance, 1),
            _shown(head.itself, 2),
            _shown(head.previous, 2),
        )
        for head in heads
    ]
    tables = [Table(what, ('', 'gradient norm', 'parameter norm'), of_layers)]
    if heads:
        columns = ('', 'head', 'entropy [nats]', 'distance [tokens]', 'on itself', 'on previous')
        tables.append(Table('Attention patterns by head', columns, of_heads))
    notes = () if heads else ('Its mixers have no explicit or implicit attention weights.',)
    figures = {'layers': list(map(asdict, layers)), 'heads': list(map(asdict, heads))}
    return MeasurementReport(what, figures, tuple(tables), notes)


def _shown(value: float | None, digits: int) -> str:
    return '-' if value is None else f'{value:z.{digits}f}'
