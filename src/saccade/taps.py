# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Values inside a model: how `Module.tap` stores them, and what an edit makes of them.

A module taps a value under a name, as in `q = self.tap('query', 'B T N H', q)`. The value is stored in the Linen
collection of that name where it is mutable, and changed where the collection `edits` has an edit of it:

    logits, found = model.apply(variables, tokens, mutable=['query', 'pattern'])
    logits = model.apply({**variables, 'edits': edits}, tokens)

Otherwise the compiled program is the same as without taps. A stack of layers adds a leading axis over the repeats of
its pattern to both, so one compiled program serves every layer. `inside/` has names for users: `layers.3.mixer.query`.
The body of `Module.scan` taps and edits values of one token, [B 1 D] for the axes 'B T D'.
"""

from typing import Any

import jax
import jax.numpy as jnp
from flax import struct
from jaxtyping import Array, Bool, Float

from saccade.types import Real

EDITS = 'edits'  # the Linen collection


@struct.dataclass
class Tapped:
    """Value inside a model.

    Attributes:
        axes: letters of the axes of an array, as in `saccade.types`, without the layers'.
        editable: whether an edit of it changes what the model computes.
        note: how it was computed, where that is not what the model does otherwise.
    """

    value: Any
    axes: str = struct.field(pytree_node=False)
    editable: bool = struct.field(pytree_node=False, default=True)
    note: str = struct.field(pytree_node=False, default='')

    def of_all_tokens(self) -> 'Tapped':
        """Return the value of all tokens, from the values of single tokens along a leading axis."""
        at = self.axes.split().index('T')
        return self.replace(value=jnp.moveaxis(jnp.squeeze(self.value, 1 + at), 0, at))


@struct.dataclass
class Edit:
    """Edit of a value: x becomes  keep x + mean m + add  where `where` is True; m is the mean of x over the batch.

    With keep 0, mean 0 and add 0 it is ablated, with mean 1 replaced by its mean, with keep 1 and add d moved by d. The
    mean leaves padding out where the module that taps x tells it.

    Attributes: as above; each can be broadcast to x; axes, the letters of the axes of x.
    """

    where: Bool[Array, '...']
    keep: Float[Array, '...']
    mean: Float[Array, '...']
    add: Float[Array, '...']
    axes: str = struct.field(pytree_node=False)

    def of(self, x: Array, real: Real | None = None) -> Array:
        """Return the edited value, in the dtype of x; `real` is False for padding, of the first two axes of x."""
        counted = None if real is None else jnp.expand_dims(real, range(2, x.ndim))
        mean = jnp.mean(x, axis=0, keepdims=True, where=counted)
        if counted is not None:
            mean = jnp.where(counted.any(axis=0, keepdims=True), mean, 0.0)  # a place of padding only has none
        return jnp.where(self.where, self.keep * x + self.mean * mean + self.add, x).astype(x.dtype)

    def of_each_token(self, tokens: int) -> 'Edit':
        """Return the edits of single tokens along a leading axis."""
        at = self.axes.split().index('T')

        def split(leaf: Array) -> Array:
            whole = jnp.broadcast_to(leaf, (*leaf.shape[:at], tokens, *leaf.shape[at + 1 :]))
            return jnp.expand_dims(jnp.moveaxis(whole, at, 0), 1 + at)

        return jax.tree.map(split, self)
