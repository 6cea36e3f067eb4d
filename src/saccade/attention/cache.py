# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""KV cache: keys and values by slot, of all previous tokens or only of the newest.

Under a mask with unbounded reach, rows advance together: slot s of every row is written in the same step. Slots
without a token (left padding of a short prompt, the tail of a finished row) have segment 0, which no query attends to.

Under a mask that reaches back R tokens, R + 1 slots form a ring buffer: a row's new token replaces its oldest, and
decoding needs constant memory. Rows advance independently. A chunk of several tokens attends to the ring and to itself,
and then the newest tokens of both become the ring.

Keys and values may be kept in int8 (`in_int8`): each vector is rounded once, when it is written, and a step computes
with the numbers of one layer at a time in their own dtype.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from flax import struct
from jaxtyping import Array, Float, Int

from saccade.ops.int8 import Int8
from saccade.ops.mask import MaskBase
from saccade.ops.scoring import Scoring
from saccade.types import CachedKeys, Features, Keys, LayerContext, Mixed, Pairs, Queries, State, UserError, Values

_SLOT_AXES = {'k': 2, 'v': 2, 'features': 1, 'positions': 1, 'segments': 1}


def slots_for(mask: MaskBase, capacity: int) -> int:
    """Return the number of slots per row for `capacity` tokens under this mask."""
    return capacity if mask.lookback is None else min(capacity, mask.lookback + 1)


class KVCache:
    """Base class of KV caches: `Cache`, by row, and `attention.paged:PagedCache`. A mixer reads fields of `whole()`."""

    def step(
        self, q: Queries, k: CachedKeys, v: Values, scoring: Scoring, context: LayerContext
    ) -> tuple[Mixed, 'KVCache']:
        """Add a chunk to the cache and attend to it; return the output and the new cache."""
        after = self.append(k, v, scoring.features, context)
        return after.attend(q, scoring, context), after

    def append(self, k: CachedKeys, v: Values, features: Features, context: LayerContext) -> 'KVCache':
        """Return the cache with a chunk in the next slots. Abstract."""
        raise NotImplementedError

    def attend(self, q: Queries, scoring: Scoring, context: LayerContext) -> Mixed:
        """Attend queries of the newest tokens to all slots. Abstract."""
        raise NotImplementedError

    def whole(self) -> 'Cache':
        """Return the cache with the slots of each row side by side. Abstract."""
        raise NotImplementedError

    def with_fields(self, **fields: Any) -> 'KVCache':
        """Return the cache with other values of the fields that a class has in addition. Abstract."""
        raise NotImplementedError

    def read(self, scoring: Scoring, context: LayerContext) -> tuple[Keys, Values, Pairs]:
        """Return the keys and values of all slots, and their pairs with these tokens, with positions as indices."""
        return self.whole().read(scoring, context)


@struct.dataclass
class Cache(KVCache):
    """KV cache: keys, values and features by slot; axis 0 of every leaf is the batch.

    Heads come before slots, the layout of a step's matrix products, so a one-token step does not copy the cache.

    Attributes:
        k, v: as they are kept; `keys` and `values` return them as numbers.
        positions, segments: position and segment of the token in each slot; segment 0 for empty slots.
        filled: next slot to write; in a ring, the slot of the oldest token.
    """

    k: Float[Array, 'B K S H'] | Int8
    v: Float[Array, 'B _ S _'] | Int8
    features: Features
    positions: Int[Array, 'B S']
    segments: Int[Array, 'B S']
    filled: Int[Array, 'B']

    @classmethod
    def empty(cls, k: CachedKeys, v: Values, features: Features, slots: int, **more: Any) -> 'Cache':
        """Return a cache with `slots` empty slots per row, in the shapes and dtypes of k, v and features.

        Args:
            more: additional fields of the class.
        """
        B = k.shape[0]
        k, v = (jnp.zeros((B, x.shape[2], slots, x.shape[3]), x.dtype) for x in (k, v))
        features = {name: jnp.zeros((B, slots, x.shape[2]), x.dtype) for name, x in features.items()}
        positions, segments = (jnp.zeros((B, slots), jnp.int32) for _ in range(2))
        return cls(k, v, features, positions, segments, jnp.zeros(B, jnp.int32), **more)

    def keys(self) -> Float[Array, 'B K S H']:
        """Return the keys by slot."""
        return _numbers(self.k)

    def values(self) -> Float[Array, 'B _ S _']:
        """Return the values by slot."""
        return _numbers(self.v)

    def whole(self) -> 'Cache':
        """Return the cache, whose slots are by row."""
        return self

    def with_fields(self, **fields: Any) -> 'Cache':
        """Return the cache with other values of the fields that a class has in addition."""
        return self.replace(**fields)

    def step(
        self, q: Queries, k: CachedKeys, v: Values, scoring: Scoring, context: LayerContext
    ) -> tuple[Mixed, 'Cache']:
        """Add a chunk to the cache and attend to it; return the output and the new cache."""
        lookback, slots, chunk = scoring.mask.lookback, self.positions.shape[1], (k, v, scoring.features)
        if lookback is None or slots <= lookback:
            seen = after = self.append(*chunk, context)
        elif k.shape[1] == 1:
            after = self.renew(*chunk, context)
            seen = after.in_order() if jax.tree.leaves(scoring.init_carry(q)) else after
        else:
            seen = self.in_order().extend(*chunk, context)
            after = seen.newest(slots)
        return seen.attend(q, scoring, context), after

    def append(self, k: CachedKeys, v: Values, features: Features, context: LayerContext) -> 'Cache':
        """Return the cache with a chunk written into the next slots, the same slots in every row."""

        def put(axis: int, slots: Array, new: Array) -> Array:
            return jax.lax.dynamic_update_slice_in_dim(slots, new, self.filled[0], axis)

        return self.write(put, k, v, features, context).replace(filled=self.filled + k.shape[1])

    def rewound(self, count: Int[Array, '']) -> 'Cache':
        """Return the cache without the newest `count` slots of each row, where every token has a slot of its own."""
        filled = self.filled - count
        kept = jnp.arange(self.segments.shape[1]) < filled[:, None]
        return self.replace(segments=jnp.where(kept, self.segments, 0), filled=filled)

    def renew(self, k: CachedKeys, v: Values, features: Features, context: LayerContext) -> 'Cache':
        """Return the ring with one token per row written over the oldest; padding is overwritten by the next token."""

        def put(axis: int, slots: Array, new: Array) -> Array:
            index = (jnp.arange(slots.shape[0]), *(slice(None),) * (axis - 1), self.filled)
            return slots.at[index].set(jnp.take(new, 0, axis))

        real = context.numbered[:, 0] != 0
        return self.write(put, k, v, features, context).replace(filled=(self.filled + real) % self.positions.shape[1])

    def extend(self, k: CachedKeys, v: Values, features: Features, context: LayerContext) -> 'Cache':
        """Return the cache with the slots of a chunk appended."""
        return self.write(lambda axis, slots, new: jnp.concatenate([slots, new], axis), k, v, features, context)

    def in_order(self) -> 'Cache':
        """Return the ring unrolled: each row's oldest slot comes first."""
        slots = self.positions.shape[1]
        return self._taken((self.filled[:, None] + jnp.arange(slots)) % slots)

    def newest(self, slots: int) -> 'Cache':
        """Return a ring of each row's newest tokens, from slots in order."""
        return self._taken(jnp.argsort(self.segments != 0, axis=-1, stable=True)[:, -slots:])

    def attend(self, q: Queries, scoring: Scoring, context: LayerContext) -> Mixed:
        """Attend queries of the newest tokens to all slots."""
        return scoring.attend(q, *self.read(scoring, context))[0]

    def read(self, scoring: Scoring, context: LayerContext) -> tuple[Keys, Values, Pairs]:
        """Return the keys and values of all slots, and their pairs with these tokens, with positions as indices.

        An override computes those of each slot from that slot alone: in pages, only a part of the slots is here.
        """
        segments = 1 if context.segments is None else context.segments[..., :, None]
        same = (self.segments[..., None, :] == segments) & (self.segments[..., None, :] != 0)
        allowed = scoring.mask(context.positions, self.positions) & same
        pairs = Pairs(context.positions, self.positions, allowed[:, None], scoring.scale, self.features)
        return heads_first(self.keys()), heads_first(self.values()), pairs

    def write(
        self,
        change: Callable[[int, Array, Array], Array],
        k: CachedKeys,
        v: Values,
        features: Features,
        context: LayerContext,
    ) -> 'Cache':
        """Update each array with its part of a chunk, along the axis of its slots."""
        chunk = (heads_first(k), heads_first(v), features, context.positions, context.numbered)

        def put(axis: int, slots: Array, new: Array) -> Array:
            return change(axis, slots, new.astype(slots.dtype))

        found = {}
        for (name, axis), new in zip(_SLOT_AXES.items(), chunk, strict=True):
            kept = getattr(self, name)
            new = Int8.of(new, kept.dtype) if isinstance(kept, Int8) else new
            found[name] = jax.tree.map(partial(put, axis), kept, new)
        return self.replace(**found)

    def each(self, change: Callable[[int, Array], Array]) -> 'Cache':
        """Return the cache with each array by slot changed; `change` also gets the axis of the slots."""
        return self.replace(
            **{name: jax.tree.map(partial(change, axis), getattr(self, name)) for name, axis in _SLOT_AXES.items()}
        )

    def _taken(self, order: Int[Array, 'B S']) -> 'Cache':
        """Return the slots of each row in this order, to be written from the first on."""

        def take(axis: int, slots: Array) -> Array:
            return jax.vmap(lambda row, at: jnp.take(row, at, axis - 1))(slots, order)

        return self.each(take).replace(filled=jnp.zeros_like(self.filled))


@struct.dataclass
class CompactCache(Cache):
    """KV cache of compressed keys and values.

    The keys and values of all slots are recomputed at each step.

    Attributes:
        expand: function from the two cached arrays, [B S _ _] each, to keys and values. It is compared by equality, so
            it must be a module-level function or a frozen dataclass.
    """

    expand: Callable[[Array, Array], tuple[Keys, Values]] = struct.field(pytree_node=False, kw_only=True)

    def read(self, scoring: Scoring, context: LayerContext) -> tuple[Keys, Values, Pairs]:
        """Return the expanded keys and values of all slots, and their pairs with these tokens."""
        k, v, pairs = super().read(scoring, context)
        return *self.expand(k, v), pairs


def in_int8(state: State) -> State:
    """Return a decoding state whose KV caches keep keys and values in int8.

    Raises:
        UserError: it has none; those whose keys each step computes anew, and so would round again, do not count.
    """

    def kept(node: Any) -> Any:
        if not is_cache(node):
            return node
        kept = {name: getattr(node, name) for name in ('k', 'v')}  # of latents v has no features
        return node.replace(**{name: Int8.of(x, x.dtype) for name, x in kept.items() if x.shape[-1]})

    def is_cache(node: Any) -> bool:
        return isinstance(node, Cache)

    nodes, structure = jax.tree.flatten(state, is_leaf=lambda node: is_cache(node) or rewrites(node))
    if not any(map(is_cache, nodes)):
        raise UserError('the model has no KV cache that can be in int8; decode without --cache')
    return structure.unflatten(map(kept, nodes))


def rewrites(node: Any) -> bool:
    """Return True for a state with a KV cache whose keys each step changes."""
    return getattr(node, 'rewrites', False)


def _numbers(kept: Array | Int8) -> Array:
    return kept.vectors() if isinstance(kept, Int8) else kept


def heads_first(x: Array) -> Array:
    """Swap tokens and heads: [B S K H] to [B K S H], and back."""
    return jnp.swapaxes(x, -2, -3)
