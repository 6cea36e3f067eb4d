# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Values inside a model: how `Module.tap` stores them, and what an edit makes of them.

A module taps a value under a name, as in `q = self.tap('query', 'B T N H', q)`. The value is stored in the Linen
collection of that name where it is mutable, and changed where the collection `edits` has an edit of it:

    logits, found = model.apply(variables, tokens, mutable=['query', 'pattern'])
    logits = model.apply({**variables, 'edits': edits}, tokens)

Otherwise the compiled program is the same as without taps. A stack of layers adds a leading axis over the repeats of
its pattern to both, so one compiled program serves every layer. `inside/` has names for users: `layers.3.mixer.query`.
"""

from typing import Any

import jax.numpy as jnp
from flax import struct
from jaxtyping import Array, Bool, Float

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


@struct.dataclass
class Edit:
    """Edit of a value: x becomes  keep x + mean m + add  where `where` is True; m is the mean of x over the batch.

    With keep 0, mean 0 and add 0 it is ablated, with mean 1 replaced by its mean, with keep 1 and add d moved by d.

    Attributes: as above; each can be broadcast to x.
    """

    where: Bool[Array, '...']
    keep: Float[Array, '...']
    mean: Float[Array, '...']
    add: Float[Array, '...']

    def of(self, x: Array) -> Array:
        """Return the edited value, in the dtype of x."""
        mean = jnp.mean(x, axis=0, keepdims=True)
        return jnp.where(self.where, self.keep * x + self.mean * mean + self.add, x).astype(x.dtype)
