# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Recurrence: run one step over the tokens of padded and packed rows, as one `lax.scan`.

Padding does not change the state, and a document starts from zeros. The step is a pure function (state, u) -> state,
where u, the contribution of the inputs, is computed for all tokens at once before the scan.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from flax import struct
from jaxtyping import Array, Bool, Float, Int, PyTree

Step = Callable[[PyTree, Float[Array, 'B F']], PyTree]


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


def run(
    step: Step,
    hidden: Callable[[PyTree], Float[Array, 'B D']],
    u: Float[Array, 'B T F'],
    segments: Int[Array, 'B T'],
    carried: Carried,
    reverse: bool = False,
) -> tuple[Float[Array, 'B T D'], Carried]:
    """Run the step over all tokens; return the hidden state at each, and the carry after the last.

    Args:
        hidden: function of the state to the hidden state.
        reverse: run from the last token to the first.
    """

    def body(carried: Carried, this: tuple[Array, Array]) -> tuple[Carried, Array]:
        u, segment = this
        goes_on = (segment == carried.segment) | (segment == 0)
        state = jax.tree.map(lambda leaf: jnp.where(goes_on[:, None], leaf, 0.0), carried.state)
        state = held(segment != 0, step(state, u), carried.state)
        return Carried(state, jnp.where(segment != 0, segment, carried.segment)), hidden(state)

    carried, y = jax.lax.scan(body, carried, (time_first(u), time_first(segments)), reverse=reverse)
    return time_first(y), carried


def held(real: Bool[Array, 'B'], new: PyTree, old: PyTree) -> PyTree:
    """Return the new state for rows with a token, the old one for the others."""
    return jax.tree.map(lambda new, old: jnp.where(real[:, None], new, old), new, old)


def time_first(x: Array) -> Array:
    """Swap batch and time: [B T ...] to [T B ...], and back."""
    return jnp.swapaxes(x, 0, 1)
