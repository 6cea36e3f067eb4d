# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The decoding state of attention by scores: every key and value so far.

Rows advance together: slot s of every row is written in the same step. What a row has no token for (the left of
a short prompt, the tail of a finished row) is a slot of segment 0, which no query attends to.
"""

from typing import Any

import jax
import jax.numpy as jnp
from flax import struct
from jaxtyping import Array, Float, Int

from saccade.ops import plain
from saccade.ops.mask import Given
from saccade.ops.scoring import Scoring
from saccade.types import Keys, Mixed, Queries, Scope, Values


@struct.dataclass
class Cache:
    """Keys and values by slot; axis 0 of every leaf is the batch.

    Heads come before slots, as the matrix products of a step read them: no step copies the cache.

    Attributes:
        positions, segments: of the token in each slot; segment 0 where there is none.
        filled: number of slots written, the same in every row.
    """

    k: Float[Array, 'B K S H']
    v: Float[Array, 'B _ S _']
    positions: Int[Array, 'B S']
    segments: Int[Array, 'B S']
    filled: Int[Array, 'B']

    @classmethod
    def empty(cls, k: Keys, v: Values, capacity: int, **more: Any) -> 'Cache':
        """Room for `capacity` tokens a row, in the shapes and dtypes of k and v.

        Args:
            more: what else the class holds.
        """
        B = k.shape[0]
        k, v = (jnp.zeros((B, x.shape[2], capacity, x.shape[3]), x.dtype) for x in (k, v))
        positions, segments = (jnp.zeros((B, capacity), jnp.int32) for _ in range(2))
        return cls(k, v, positions, segments, jnp.zeros(B, jnp.int32), **more)

    def values(self) -> Float[Array, 'B _ S _']:
        """What is read, by slot."""
        return self.v

    def append(self, k: Keys, v: Values, scope: Scope) -> 'Cache':
        segments = jnp.ones_like(scope.positions) if scope.segments is None else scope.segments
        return self.replace(
            k=self._written(self.k, _heads_first(k), 2),
            v=self._written(self.v, _heads_first(v), 2),
            positions=self._written(self.positions, scope.positions, 1),
            segments=self._written(self.segments, segments, 1),
            filled=self.filled + k.shape[1],
        )

    def attend(self, q: Queries, scoring: Scoring, scope: Scope) -> Mixed:
        """What the newest tokens read from all slots; masks and terms are given positions for indices."""
        segments = 1 if scope.segments is None else scope.segments[..., :, None]
        same = (self.segments[..., None, :] == segments) & (self.segments[..., None, :] != 0)
        allowed = scoring.mask(scope.positions, self.positions) & same
        scoring = scoring.replace(mask=Given(allowed), dropout=None)
        k, v = _heads_first(self.k), _heads_first(self.values())
        return plain.attend(q, k, v, scoring, scope.positions, self.positions)[0]

    def _written(self, slots: Array, part: Array, axis: int) -> Array:
        return jax.lax.dynamic_update_slice_in_dim(slots, part.astype(slots.dtype), self.filled[0], axis)


def _heads_first(x: Array) -> Array:
    """Between [B S K H] and [B K S H]."""
    return jnp.swapaxes(x, -2, -3)
