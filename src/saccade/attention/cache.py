# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The decoding state of attention by scores: every key and value so far.

Rows advance together: slot s of every row is written in the same step. What a row has no token for (the left of
a short prompt, the tail of a finished row) is a slot of segment 0, which no query attends to.
"""

import jax
import jax.numpy as jnp
from flax import struct
from jaxtyping import Array, Float, Int

from saccade.ops import plain
from saccade.ops.mask import Given
from saccade.ops.scoring import Scoring
from saccade.types import Keys, Queries, Scope


@struct.dataclass
class Cache:
    """Keys and values by slot; axis 0 of every leaf is the batch.

    Attributes:
        positions, segments: of the token in each slot; segment 0 where there is none.
        filled: number of slots written, the same in every row.
    """

    k: Float[Array, 'B S K H']
    v: Float[Array, 'B S K H']
    positions: Int[Array, 'B S']
    segments: Int[Array, 'B S']
    filled: Int[Array, 'B']

    @classmethod
    def empty(cls, k: Keys, v: Keys, capacity: int) -> 'Cache':
        """Room for `capacity` tokens a row, in the shapes and dtypes of k and v."""
        B = k.shape[0]
        slots = jnp.zeros((B, capacity), jnp.int32)
        k, v = (jnp.zeros((B, capacity, *x.shape[2:]), x.dtype) for x in (k, v))
        return cls(k, v, slots, slots, jnp.zeros(B, jnp.int32))

    def append(self, k: Keys, v: Keys, scope: Scope) -> 'Cache':
        segments = jnp.ones_like(scope.positions) if scope.segments is None else scope.segments
        new = {'k': k, 'v': v, 'positions': scope.positions, 'segments': segments}
        start = self.filled[0]
        written = {
            name: jax.lax.dynamic_update_slice_in_dim(
                getattr(self, name), part.astype(getattr(self, name).dtype), start, axis=1
            )
            for name, part in new.items()
        }
        return self.replace(**written, filled=self.filled + k.shape[1])

    def attend(self, q: Queries, scoring: Scoring, scope: Scope) -> Queries:
        """What the newest tokens read from all slots; masks and terms are given positions for indices."""
        segments = 1 if scope.segments is None else scope.segments[..., :, None]
        same = (self.segments[..., None, :] == segments) & (self.segments[..., None, :] != 0)
        allowed = scoring.mask(scope.positions, self.positions) & same
        scoring = scoring.replace(mask=Given(allowed), dropout=None)
        return plain.attend(q, self.k, self.v, scoring, scope.positions, self.positions)[0]
