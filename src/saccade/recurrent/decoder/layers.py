# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Recurrent layers of a decoder: over whole rows, or token by token with feedback."""

from collections.abc import Sequence

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PyTree

from saccade.ops.recurrence import Carried
from saccade.recurrent.cell.base import Cell, Recurrence
from saccade.types import Count, Part, PRNGKey, Share


class Layers(nn.Module):
    """Stacked recurrent layers of a decoder.

    Attributes: cell of each layer; layers, their number (L); dropout between the layers.
    """

    cell: Part[Cell]
    layers: Count
    dropout: Share = 0.0

    def setup(self) -> None:
        """Make the cell of each layer."""
        self.cells = [self.cell(name=f'layer_{layer}') for layer in range(self.layers)]

    def recurrences(self, width: int) -> list[Recurrence]:
        """Return the weights of each layer; `width` is that of the first layer's inputs."""
        return [cell.recurrence(cell.width if layer else width) for layer, cell in enumerate(self.cells)]

    def start(self, batch: int) -> tuple[PyTree, ...]:
        """Return the state of each layer before the first token."""
        return tuple(cell.start(batch) for cell in self.cells)

    def hidden(self, states: Sequence[PyTree]) -> Float[Array, 'B D']:
        """Return the hidden state of the last layer."""
        return self.cells[-1].hidden(states[-1])

    def key(self, train: bool) -> PRNGKey | None:
        """Return the PRNG key of dropout; None without dropout."""
        return self.make_rng('dropout') if train and self.dropout and self.layers > 1 else None

    def whole(
        self,
        steps: Sequence[Recurrence],
        u: Float[Array, 'B T F'],
        segments: Int[Array, 'B T'],
        states: Sequence[PyTree],
        train: bool,
    ) -> tuple[Float[Array, 'B T D'], tuple[PyTree, ...]]:
        """Run whole rows of one segment layer by layer, from given states; u is the first layer's x U."""
        key, real, after, hidden = self.key(train), (segments != 0).astype(jnp.int32), [], None
        for layer, (cell, step, state) in enumerate(zip(self.cells, steps, states, strict=True)):
            u = u if layer == 0 else step.products(self._dropped(hidden.astype(step.inputs.dtype), key, layer))
            hidden, carried = cell.run(step, u, real, Carried(state, jnp.ones_like(real[:, 0])))
            after.append(carried.state)
        return hidden, tuple(after)

    def one(
        self, steps: Sequence[Recurrence], u: Float[Array, 'B F'], states: Sequence[PyTree], key: PRNGKey | None
    ) -> tuple[PyTree, ...]:
        """Run one token through all layers; return their new states."""
        after = []
        for layer, (cell, step, state) in enumerate(zip(self.cells, steps, states, strict=True)):
            if layer:
                below = self.cells[layer - 1].hidden(after[-1]).astype(step.inputs.dtype)
                u = step.products(self._dropped(below, key, layer))
            after.append(cell.step(step, state, u))
        return tuple(after)

    def _dropped(self, x: Array, key: PRNGKey | None, layer: int) -> Array:
        if key is None:
            return x
        keep = jax.random.bernoulli(jax.random.fold_in(key, layer), 1.0 - self.dropout, x.shape)
        return jnp.where(keep, x / (1.0 - self.dropout), 0.0).astype(x.dtype)
