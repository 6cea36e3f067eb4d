# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""KV cache: keys and values by slot, of all previous tokens or only of the newest.

Under a mask with unbounded reach, rows advance together: slot s of every row is written in the same step. Slots
without a token (left padding of a short prompt, the tail of a finished row) have segment 0, which no query attends to.

Under a mask that reaches back R tokens, R + 1 slots form a ring buffer: a row's new token replaces its oldest, and
decoding needs constant memory. Rows advance independently. A chunk of several tokens attends to the ring and to itself,
and then the newest tokens of both become the ring.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from flax import struct
from jaxtyping import Array, Float, Int

from saccade.ops.mask import MaskBase, PrecomputedMask
from saccade.ops.scoring import Scoring
from saccade.types import CachedKeys, Keys, LayerContext, Mixed, Queries, Values

_SLOT_AXES = {'k': 2, 'v': 2, 'positions': 1, 'segments': 1}


def slots_for(mask: MaskBase, capacity: int) -> int:
    """Return the number of slots per row for `capacity` tokens under this mask."""
    return capacity if mask.lookback is None else min(capacity, mask.lookback + 1)


@struct.dataclass
class Cache:
    """KV cache: keys and values by slot; axis 0 of every leaf is the batch.

    Heads come before slots, the layout of a step's matrix products, so a one-token step does not copy the cache.

    Attributes:
        positions, segments: position and segment of the token in each slot; segment 0 for empty slots.
        filled: next slot to write; in a ring, the slot of the oldest token.
    """

    k: Float[Array, 'B K S H']
    v: Float[Array, 'B _ S _']
    positions: Int[Array, 'B S']
    segments: Int[Array, 'B S']
    filled: Int[Array, 'B']

    @classmethod
    def empty(cls, k: CachedKeys, v: Values, slots: int, **more: Any) -> 'Cache':
        """Return a cache with `slots` empty slots per row, in the shapes and dtypes of k and v.

        Args:
            more: additional fields of the class.
        """
        B = k.shape[0]
        k, v = (jnp.zeros((B, x.shape[2], slots, x.shape[3]), x.dtype) for x in (k, v))
        positions, segments = (jnp.zeros((B, slots), jnp.int32) for _ in range(2))
        return cls(k, v, positions, segments, jnp.zeros(B, jnp.int32), **more)

    def values(self) -> Float[Array, 'B _ S _']:
        """Return the values by slot."""
        return self.v

    def step(
        self, q: Queries, k: CachedKeys, v: Values, scoring: Scoring, context: LayerContext
    ) -> tuple[Mixed, 'Cache']:
        """Add a chunk to the cache and attend to it; return the output and the new cache."""
        lookback, slots = scoring.mask.lookback, self.positions.shape[1]
        if lookback is None or slots <= lookback:
            seen = after = self.append(k, v, context)
        elif k.shape[1] == 1:
            after = self.renew(k, v, context)
            seen = after.in_order() if jax.tree.leaves(scoring.init_carry(q)) else after
        else:
            seen = self.in_order().extend(k, v, context)
            after = seen.newest(slots)
        return seen.attend(q, scoring, context), after

    def append(self, k: CachedKeys, v: Values, context: LayerContext) -> 'Cache':
        """Return the cache with a chunk written into the next slots, the same slots in every row."""

        def write(slots: Array, new: Array, axis: int) -> Array:
            return jax.lax.dynamic_update_slice_in_dim(slots, new, self.filled[0], axis)

        return self._changed(write, k, v, context).replace(filled=self.filled + k.shape[1])

    def renew(self, k: CachedKeys, v: Values, context: LayerContext) -> 'Cache':
        """Return the ring with one token per row written over the oldest; padding is overwritten by the next token."""

        def write(slots: Array, new: Array, axis: int) -> Array:
            index = (jnp.arange(slots.shape[0]), *(slice(None),) * (axis - 1), self.filled)
            return slots.at[index].set(jnp.take(new, 0, axis))

        real = context.numbered[:, 0] != 0
        return self._changed(write, k, v, context).replace(filled=(self.filled + real) % self.positions.shape[1])

    def extend(self, k: CachedKeys, v: Values, context: LayerContext) -> 'Cache':
        """Return the cache with the slots of a chunk appended."""
        return self._changed(lambda slots, new, axis: jnp.concatenate([slots, new], axis), k, v, context)

    def in_order(self) -> 'Cache':
        """Return the ring unrolled: each row's oldest slot comes first."""
        slots = self.positions.shape[1]
        return self._taken((self.filled[:, None] + jnp.arange(slots)) % slots)

    def newest(self, slots: int) -> 'Cache':
        """Return a ring of each row's newest tokens, from slots in order."""
        return self._taken(jnp.argsort(self.segments != 0, axis=-1, stable=True)[:, -slots:])

    def attend(self, q: Queries, scoring: Scoring, context: LayerContext) -> Mixed:
        """Attend queries of the newest tokens to all slots; masks and terms use positions as indices."""
        scoring, k, v = self.read(scoring, context)
        return scoring.attend(q, k, v, scoring.pairs(context.positions, self.positions))[0]

    def read(self, scoring: Scoring, context: LayerContext) -> tuple[Scoring, Keys, Values]:
        """Return the scoring of these tokens over all slots, and the keys and values of the slots."""
        segments = 1 if context.segments is None else context.segments[..., :, None]
        same = (self.segments[..., None, :] == segments) & (self.segments[..., None, :] != 0)
        allowed = scoring.mask(context.positions, self.positions) & same
        scoring = scoring.replace(mask=PrecomputedMask(allowed), dropout=None)
        return scoring, heads_first(self.k), heads_first(self.values())

    def _changed(
        self, change: Callable[[Array, Array, int], Array], k: CachedKeys, v: Values, context: LayerContext
    ) -> 'Cache':
        """Update each array with its part of a chunk, along the axis of its slots."""
        brought = (heads_first(k), heads_first(v), context.positions, context.numbered)
        found = {}
        for (name, axis), new in zip(_SLOT_AXES.items(), brought, strict=True):
            slots = getattr(self, name)
            found[name] = change(slots, new.astype(slots.dtype), axis)
        return self.replace(**found)

    def _taken(self, order: Int[Array, 'B S']) -> 'Cache':
        """Return the slots of each row in this order, to be written from the first on."""
        taken = {
            name: jax.vmap(lambda slots, at, axis=axis: jnp.take(slots, at, axis - 1))(getattr(self, name), order)
            for name, axis in _SLOT_AXES.items()
        }
        return self.replace(**taken, filled=jnp.zeros_like(self.filled))


@struct.dataclass
class CompactCache(Cache):
    """KV cache of compressed keys and values.

    The keys and values of all slots are recomputed at each step.

    Attributes:
        expand: function from the two cached arrays, [B S _ _] each, to keys and values. It is compared by equality, so
            it must be a module-level function or a frozen dataclass.
    """

    expand: Callable[[Array, Array], tuple[Keys, Values]] = struct.field(pytree_node=False, kw_only=True)

    def read(self, scoring: Scoring, context: LayerContext) -> tuple[Scoring, Keys, Values]:
        """Return the scoring of these tokens over all slots, and the expanded keys and values."""
        scoring, k, v = super().read(scoring, context)
        return scoring, *self.expand(k, v)


def heads_first(x: Array) -> Array:
    """Swap tokens and heads: [B S K H] to [B K S H], and back."""
    return jnp.swapaxes(x, -2, -3)
