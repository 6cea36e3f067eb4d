# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""KV cache: keys and values by slot, of every token so far or only of the newest.

Under a mask that looks back without bound, rows advance together: slot s of every row is written in the same step.
What a row has no token for (the left of a short prompt, the tail of a finished row) is a slot of segment 0, which no
query attends to.

Under a mask that looks back R tokens, R + 1 slots are a ring: a row's new token takes the place of its oldest, and
decoding may go on for ever in the same memory. Each row advances by its own tokens, and need not wait for the others. A
chunk of several tokens attends to the ring and to itself, and then the newest of both become the ring.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from flax import struct
from jaxtyping import Array, Float, Int

from saccade.ops.mask import Given, MaskBase
from saccade.ops.scoring import Scoring
from saccade.types import CachedKeys, Keys, LayerContext, Mixed, Queries, Values

_SLOT_AXES = {'k': 2, 'v': 2, 'positions': 1, 'segments': 1}


def slots_for(mask: MaskBase, capacity: int) -> int:
    """Return how many slots a row needs under this mask for `capacity` tokens."""
    return capacity if mask.lookback is None else min(capacity, mask.lookback + 1)


@struct.dataclass
class Cache:
    """KV cache: keys and values by slot; axis 0 of every leaf is the batch.

    Heads come before slots, as the matrix products of a step need them: no step of one token copies the cache.

    Attributes:
        positions, segments: of the token in each slot; segment 0 where there is none.
        filled: the slot to be written next; in a ring, that of the oldest token.
    """

    k: Float[Array, 'B K S H']
    v: Float[Array, 'B _ S _']
    positions: Int[Array, 'B S']
    segments: Int[Array, 'B S']
    filled: Int[Array, 'B']

    @classmethod
    def empty(cls, k: CachedKeys, v: Values, slots: int, **more: Any) -> 'Cache':
        """Return a cache with a number of empty slots a row, in the shapes and dtypes of k and v.

        Args:
            more: further fields of the class.
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
        """Add a chunk to the cache and attend to it; return the output of its queries, and the cache after it."""
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
        """Return the cache with a chunk written into the next slots, which are the same in every row."""

        def write(slots: Array, new: Array, axis: int) -> Array:
            return jax.lax.dynamic_update_slice_in_dim(slots, new, self.filled[0], axis)

        return self._changed(write, k, v, context).replace(filled=self.filled + k.shape[1])

    def renew(self, k: CachedKeys, v: Values, context: LayerContext) -> 'Cache':
        """Return the cache with one token written over the oldest of each row; the next token overwrites padding."""

        def write(slots: Array, new: Array, axis: int) -> Array:
            index = (jnp.arange(slots.shape[0]), *(slice(None),) * (axis - 1), self.filled)
            return slots.at[index].set(jnp.take(new, 0, axis))

        real = context.numbered[:, 0] != 0
        return self._changed(write, k, v, context).replace(filled=(self.filled + real) % self.positions.shape[1])

    def extend(self, k: CachedKeys, v: Values, context: LayerContext) -> 'Cache':
        """Return the cache with slots of a chunk appended."""
        return self._changed(lambda slots, new, axis: jnp.concatenate([slots, new], axis), k, v, context)

    def in_order(self) -> 'Cache':
        """Return the ring cut open: each row's oldest slot comes first."""
        slots = self.positions.shape[1]
        return self._taken((self.filled[:, None] + jnp.arange(slots)) % slots)

    def newest(self, slots: int) -> 'Cache':
        """Return a ring of each row's newest tokens, from slots that are in order."""
        return self._taken(jnp.argsort(self.segments != 0, axis=-1, stable=True)[:, -slots:])

    def attend(self, q: Queries, scoring: Scoring, context: LayerContext) -> Mixed:
        """Attend by the newest tokens to all slots; masks and terms are given positions for indices."""
        scoring, k, v = self.read(scoring, context)
        return scoring.attend(q, k, v, scoring.pairs(context.positions, self.positions))[0]

    def read(self, scoring: Scoring, context: LayerContext) -> tuple[Scoring, Keys, Values]:
        """Return the scoring of these tokens over all slots, and the keys and values of the slots."""
        segments = 1 if context.segments is None else context.segments[..., :, None]
        same = (self.segments[..., None, :] == segments) & (self.segments[..., None, :] != 0)
        allowed = scoring.mask(context.positions, self.positions) & same
        scoring = scoring.replace(mask=Given(allowed), dropout=None)
        return scoring, heads_first(self.k), heads_first(self.values())

    def _changed(
        self, change: Callable[[Array, Array, int], Array], k: CachedKeys, v: Values, context: LayerContext
    ) -> 'Cache':
        """Change each array by what a chunk brings it, and the axis of its slots."""
        brought = (heads_first(k), heads_first(v), context.positions, context.numbered)
        found = {}
        for (name, axis), new in zip(_SLOT_AXES.items(), brought, strict=True):
            slots = getattr(self, name)
            found[name] = change(slots, new.astype(slots.dtype), axis)
        return self.replace(**found)

    def _taken(self, order: Int[Array, 'B S']) -> 'Cache':
        """The slots of each row in this order, to be written from the first on."""
        taken = {
            name: jax.vmap(lambda slots, at, axis=axis: jnp.take(slots, at, axis - 1))(getattr(self, name), order)
            for name, axis in _SLOT_AXES.items()
        }
        return self.replace(**taken, filled=jnp.zeros_like(self.filled))


@struct.dataclass
class CompactCache(Cache):
    """KV cache of what keys and values are made of, where that is smaller than they are.

    The keys and values of all slots are made again at each step, and kept no longer than it.

    Attributes:
        expand: a function of what is cached, [B S _ _] twice, to keys and values. It is compared, so two that are alike
            must be equal: a function of a file, or a frozen dataclass.
    """

    expand: Callable[[Array, Array], tuple[Keys, Values]] = struct.field(pytree_node=False, kw_only=True)

    def read(self, scoring: Scoring, context: LayerContext) -> tuple[Scoring, Keys, Values]:
        """Return the scoring of these tokens over all slots, and keys and values made of what the slots hold."""
        scoring, k, v = super().read(scoring, context)
        return scoring, *self.expand(k, v)


def heads_first(x: Array) -> Array:
    """Swap tokens and heads: [B S K H] to [B K S H], and back."""
    return jnp.swapaxes(x, -2, -3)
