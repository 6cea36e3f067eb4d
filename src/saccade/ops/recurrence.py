# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Recurrence over the tokens of padded and packed rows.

Padding does not change the state, and a document starts from zeros.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from flax import struct
from jaxtyping import Array, Bool, Int, PyTree


@struct.dataclass
class Carried:
    """Carry of a recurrence from token to token; axis 0 of every leaf is the batch.

    Attributes:
        state: state of the recurrence.
        segment: segment of the newest token that was not padding; 0 before the first.
    """

    state: PyTree
    segment: Int[Array, 'B']

    @classmethod
    def before(cls, state: PyTree) -> 'Carried':
        """Return the carry before the first token, from the initial state."""
        return cls(state, jnp.zeros(jax.tree.leaves(state)[0].shape[0], jnp.int32))

    def after(self, step: Callable[[PyTree], PyTree], segment: Int[Array, 'B']) -> 'Carried':
        """Return the carry after a token of this segment; `step` is the function of the state."""
        goes_on = (segment == self.segment) | (segment == 0)
        state = jax.tree.map(lambda leaf: jnp.where(_of_rows(goes_on, leaf), leaf, 0.0), self.state)
        state = held(segment != 0, step(state), self.state)
        return Carried(state, jnp.where(segment != 0, segment, self.segment))


def held(real: Bool[Array, 'B'], new: PyTree, old: PyTree) -> PyTree:
    """Return the new state for rows with a token, the old one for the others."""
    return jax.tree.map(lambda new, old: jnp.where(_of_rows(real, old), new, old), new, old)


def _of_rows(flag: Bool[Array, 'B'], leaf: Array) -> Bool[Array, 'B ...']:
    return flag.reshape(-1, *[1] * (leaf.ndim - 1))


def time_first(x: Array) -> Array:
    """Swap batch and time: [B T ...] to [T B ...], and back."""
    return jnp.swapaxes(x, 0, 1)
