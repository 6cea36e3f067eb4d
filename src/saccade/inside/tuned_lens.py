# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Tuned lens: the logit lens (`circuits.py`) with a trained affine map for each layer, before the model's last steps.

    logits_l = last steps(h_l + h_l A_l + b_l),    loss = sum over l of KL(softmax(logits) || softmax(logits_l))

Belrose et al. 2023, "Eliciting Latent Predictions from Transformers with the Tuned Lens", section 3,
https://arxiv.org/abs/2303.08112. The maps start with zeros, from the logit lens; the last layer has none. Adam with a
learning rate that falls to 0, as an option of the authors' code; they also have SGD with momentum. Cost of a step: one
forward pass of the model for each layer.
"""

import itertools
from collections.abc import Iterable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import struct
from jaxtyping import Array, Float, PyTree

from saccade.inside.activations import Inside, Place
from saccade.inside.circuits import logits_of, residual_streams
from saccade.inside.grid import Grid
from saccade.progress import counted
from saccade.taps import EDITS, Edit
from saccade.task.base import TaskBase
from saccade.types import Batch, LayerContext, Params

RATE = 1e-3  # learning rate of the first step


@struct.dataclass
class LayerMaps:
    """Affine maps of the residual stream: of the embedded tokens, and after each layer but the last.

    Attributes: kernel, A; bias, b.
    """

    kernel: Float[Array, 'M D D']
    bias: Float[Array, 'M D']

    @classmethod
    def zeros(cls, inside: Inside) -> 'LayerMaps':
        """Return the maps of the logit lens."""
        first, *after = residual_streams(inside.places)
        D = inside.places[first].shape[-1]
        return cls(jnp.zeros((len(after), D, D)), jnp.zeros((len(after), D)))

    def __call__(self, states: Float[Array, 'R B T D']) -> Float[Array, 'R B T D']:
        """Return the mapped states; the last is unchanged."""
        moved = jnp.einsum('RBTD,RDE->RBTE', states[:-1], self.kernel) + self.bias[:, None, None]
        return states + jnp.pad(moved, ((0, 1), (0, 0), (0, 0), (0, 0)))


def read_by(task: TaskBase, model: Any, params: Params, batch: Batch) -> Inside:
    """Return a model on a batch: on its tokens and contexts, without the options that follow."""
    given = task.inputs(model, jax.random.key(0), batch)
    last = max(number for number, value in enumerate(given) if isinstance(value, LayerContext))
    return Inside(model, params, given[: last + 1])


def tune(insides: Iterable[Inside], steps: int) -> LayerMaps:
    """Return maps that are trained on the inputs of one model, a batch for each step.

    Raises:
        UserError: the model predicts no tokens, or has no stack of layers.
    """
    insides = iter(insides)
    first = next(insides)
    maps = LayerMaps.zeros(first)
    rule = optax.adam(optax.linear_schedule(RATE, 0.0, steps))

    def loss(maps: LayerMaps, params: Params, arguments: Any) -> Array:
        sums, count = _divergences(first.model, _streams(first), maps, params, arguments)
        return sums.sum() / count

    @jax.jit
    def step(maps: LayerMaps, moments: PyTree, params: Params, arguments: Any) -> tuple[LayerMaps, PyTree]:
        gradient = jax.grad(loss)(maps, params, arguments)
        updates, moments = rule.update(gradient, moments)
        return optax.apply_updates(maps, updates), moments

    moments = rule.init(maps)
    given = itertools.islice(itertools.chain([first], insides), steps)
    for inside in counted(given, 'tuning the lens', steps):
        maps, moments = step(maps, moments, first.params, inside.arguments)
    return maps


def divergence(insides: Iterable[Inside], maps: LayerMaps) -> Float[np.ndarray, ' R']:
    """Return the mean KL divergence, in nats, of each layer's prediction from the model's, over real tokens."""
    found = [_measured(each.model, _streams(each), maps, each.params, each.arguments) for each in insides]
    sums, counts = (sum(map(np.float64, of)) for of in zip(*found, strict=True))
    return sums / counts


def comparison(insides: Iterable[Inside], maps: LayerMaps) -> Grid:
    """Return the divergence of the logit lens and of the tuned lens, by layer."""
    insides = list(insides)
    names = residual_streams(insides[0].places)
    values = [divergence(insides, each) for each in (LayerMaps.zeros(insides[0]), maps)]
    what = "KL divergence of a layer's prediction from the model's, on validation data [nats]"
    rows = ('embedded', *(name.removesuffix('.residual_after') for name in names[1:]))
    return Grid('Lenses', what, rows, ('logit lens', 'tuned lens'), np.stack(values, -1), columns_are='lens')


def _streams(inside: Inside) -> tuple[Place, ...]:
    return tuple(inside.places[name] for name in residual_streams(inside.places))


def _divergences(
    model: Any, places: tuple[Place, ...], maps: LayerMaps, params: Params, arguments: Any
) -> tuple[Float[Array, ' R'], Array]:
    """Return sums over real tokens of the divergence of each layer's prediction, and the number of these tokens."""
    collections = sorted({place.collection for place in places})
    output, found = model.apply({'params': params}, *arguments, mutable=collections)
    states = maps(jnp.stack([place.read(found) for place in places]))
    final = jax.nn.log_softmax(logits_of(model, output).astype(jnp.float32))
    real = arguments[-1].numbered != 0

    @jax.checkpoint
    def of_layer(state: Float[Array, 'B T D']) -> Array:
        output = model.apply({'params': params, EDITS: _replaced(places[-1], state)}, *arguments)
        early = jax.nn.log_softmax(logits_of(model, output).astype(jnp.float32))
        return ((jnp.exp(final) * (final - early)).sum(axis=-1) * real).sum()

    return jax.lax.map(of_layer, states), real.sum()


_measured = partial(jax.jit, static_argnums=(0, 1))(_divergences)


def _replaced(place: Place, state: Float[Array, 'B T D']) -> PyTree:
    """Return the edits that put a state into the last layer's place."""
    where = (np.arange(place.stacked) == place.index)[:, None, None, None]
    none = np.zeros(where.shape, np.float32)
    edits: Any = Edit(where, none, none, jnp.broadcast_to(state, (place.stacked, *state.shape)), place.axes)
    for name in reversed((*place.path, place.collection)):
        edits = {name: edits}
    return edits
