# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What goes on inside a model on one batch: gradients layer by layer, and where each head looks.

    entropy of a head   - sum over keys of w log w, in nats; log S where it looks at S keys alike, 0 where at one
    distance of a head  sum over keys of w |i - j|, in tokens
    itself              the weight of a query on its own token

Means over the queries of the batch that may look at something. Clark et al. 2019, "What Does BERT Look At?",
https://arxiv.org/abs/1906.04341, tell heads apart by such numbers.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from saccade.analysis.benchmark.report import Report, Table
from saccade.attention.blockwise import Blockwise
from saccade.attention.plain import Plain
from saccade.data.pipeline import eval_batches
from saccade.train.experiment import Experiment, cache_folder
from saccade.train.optimizer import path_of
from saccade.train.trained import open_run
from saccade.train.workdir import Workdir
from saccade.types import Batch, Params, Part

_IN_A_STACK = re.compile(r'(?:.*/)?pattern_(\d+)(?:/|$)')


@dataclass(frozen=True)
class Layer:
    """Attributes: gradient, the L2 norm of the mean loss's gradient by its parameters; parameters, their own norm."""

    name: str
    gradient: float
    parameters: float


@dataclass(frozen=True)
class Head:
    """Attributes: layer and head, from 1; entropy in nats; distance in tokens; itself, a share."""

    layer: int
    head: int
    entropy: float
    distance: float
    itself: float


def inspect_run(workdir: str) -> Report:
    """Inspect a trained model on the first validation batch.

    Raises:
        UserError: there is no run in this folder, or its data is gone.
    """
    trained = open_run(workdir)
    experiment = Experiment.of(trained.config)
    batch = _first_batch(experiment, Workdir.existing(workdir).tokenizer)
    layers, heads = inspect(experiment, trained.params, batch)
    return _report(f'{workdir} at step {trained.step}', layers, heads)


def inspect_config(config: Mapping[str, Any], name: str) -> Report:
    """Inspect a model as training would begin it.

    Raises:
        UserError: the config does not fit itself or the data.
    """
    experiment = Experiment.of(config)
    batch = _first_batch(experiment, None)
    params = experiment.task().init(experiment.model(), jax.random.key(experiment.seed), batch)
    layers, heads = inspect(experiment, params, batch)
    return _report(f'{name} before training', layers, heads)


def inspect(experiment: Experiment, params: Params, batch: Batch) -> tuple[list[Layer], list[Head]]:
    """The layers, and the heads of those that make attention weights, in float32."""
    task = experiment.task()

    @jax.jit
    def run(params: Params, batch: Batch) -> tuple[Params, PyTree]:
        def loss(params: Params) -> tuple[Array, PyTree]:
            weights: dict[str, PyTree] = {}
            model = _watched(_with_weights(experiment.model), weights)
            total = task.loss(model, params, batch, jax.random.key(0), False)['loss']
            return total.mean(), weights

        return jax.grad(loss, has_aux=True)(params)

    gradient, weights = run(params, batch)
    return list(_layers(gradient, params)), list(_heads(weights))


def _watched(model: Part, seen: dict[str, PyTree]) -> Any:
    """The model as a task knows it, which puts the attention weights of its layers into `seen`."""

    class Watched(model.target):
        @nn.nowrap
        def apply(self, variables: PyTree, *arguments: Any, mutable: list[str], **more: Any) -> Any:
            y, reports = super().apply(variables, *arguments, mutable=[*mutable, 'weights'], **more)
            seen.update(reports.pop('weights', {}))
            return y, reports

    return Watched(**dict(model.arguments))


def _layers(gradient: Params, params: Params) -> Iterator[Layer]:
    """What is in no layer first, then the layers by their number."""
    grown, own = _norms(gradient), _norms(params)
    yield from (Layer(name, grown[name], own[name]) for name in own)


def _norms(tree: Params) -> dict[str, float]:
    """L2 norm of what stands outside the layers, by its name, and of each layer."""
    outside = [(path, leaf) for path, leaf in _leaves(tree) if not _IN_A_STACK.match(path)]
    parts = [(path.partition('/')[0], leaf) for path, leaf in outside]
    parts += [(f'layer {number}', leaf) for number, leaf in _by_layer(tree)]
    squares: dict[str, float] = {}
    for name, leaf in parts:
        squares[name] = squares.get(name, 0.0) + float(np.square(np.asarray(leaf, np.float64)).sum())
    return {name: square**0.5 for name, square in squares.items()}


def _heads(weights: PyTree) -> Iterator[Head]:
    for number, one in _by_layer(weights):
        for head, row in enumerate(np.asarray(_of_heads(one))):
            yield Head(number, head + 1, *map(float, row))


def _by_layer(tree: PyTree) -> list[tuple[int, Array]]:
    """Number of the layer, from 1, and its part of each leaf that is stacked over the repeats of a pattern."""
    stacked = [(int(found[1]), leaf) for path, leaf in _leaves(tree) if (found := _IN_A_STACK.match(path))]
    patterns = 1 + max((place for place, _ in stacked), default=0)
    parts = ((1 + place + patterns * repeat, part) for place, leaf in stacked for repeat, part in enumerate(leaf))
    return sorted(parts, key=lambda part: part[0])


def _leaves(tree: PyTree) -> list[tuple[str, Array]]:
    return [(path_of(path), leaf) for path, leaf in jax.tree_util.tree_leaves_with_path(tree)]


@jax.jit
def _of_heads(weights: Float[Array, 'B N T S']) -> Float[Array, 'N 3']:
    """Entropy, distance and weight on itself of each head."""
    T, S = weights.shape[-2:]
    sums = jnp.abs(weights).sum(-1)
    seen = sums > 0
    shares = jnp.abs(weights) / jnp.where(seen, sums, 1.0)[..., None]
    distance = jnp.abs(jnp.arange(T)[:, None] - jnp.arange(S))
    own = jnp.eye(T, S)
    each = (
        jax.scipy.special.entr(shares).sum(-1),
        jnp.einsum('BNTS,TS->BNT', shares, distance),
        jnp.einsum('BNTS,TS->BNT', shares, own),
    )
    return jnp.stack([jnp.mean(measure, axis=(0, 2), where=seen) for measure in each], axis=-1)


def _with_weights(value: Any) -> Any:
    """A part with a plain kernel, which gives the same numbers, for every blockwise one, which makes no weights."""
    if isinstance(value, tuple):
        return tuple(map(_with_weights, value))
    if not isinstance(value, Part):
        return value
    inner = {name: _with_weights(argument) for name, argument in value.arguments}
    if value.target is Blockwise:
        return Part(Plain).but(**{name: inner[name] for name in ('dropout', 'weighting') if name in inner})
    return value.but(**inner)


def _first_batch(experiment: Experiment, tokenizer: Path | None) -> Batch:
    split = experiment.data().prepare(cache_folder(), tokenizer).splits['validation']
    return next(eval_batches(split, experiment.batch_size))


def _report(what: str, layers: list[Layer], heads: list[Head]) -> Report:
    of_layers = [(layer.name, f'{layer.gradient:.3g}', f'{layer.parameters:.3g}') for layer in layers]
    of_heads = [
        (f'layer {head.layer}', str(head.head), f'{head.entropy:.2f}', f'{head.distance:.1f}', f'{head.itself:.2f}')
        for head in heads
    ]
    tables = [Table(what, ('', 'gradient norm', 'parameter norm'), of_layers)]
    if heads:
        columns = ('', 'head', 'entropy [nats]', 'distance [tokens]', 'on itself')
        tables.append(Table('Where its heads look', columns, of_heads))
    notes = () if heads else ('Its mixers make no attention weights.',)
    figures = {'layers': list(map(asdict, layers)), 'heads': list(map(asdict, heads))}
    return Report(what, figures, tuple(tables), notes)
