# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""KV cache in pages: rows with a common beginning share its pages, and a row holds no more pages than it fills.

    slot t of row b is slot t % P of page table[b, t // P]

Kwon et al. 2023, "Efficient Memory Management for Large Language Model Serving with PagedAttention",
https://arxiv.org/abs/2309.06180

A pool of pages is a `Cache` whose first axis is the page and which has P slots: any subclass serves, with what it
overrides. The block table [B W] is a part of the state with a static width, filled in by the host
(`decode.paged`), which hands out pages, counts the rows of each, and copies a shared page before one of them writes in
it. Inside a compiled program no page changes hands: the host runs as many steps as the pages at hand serve, at most P.
Tokens of a row fill its slots without gaps; padding is not written.

A step attends page by page in two loops: one computes scores, from the newest page to the first, as score terms with a
carry need; after the softmax the other sums the values. Only scores [B N T S] are as long as a row: keys and values are
gathered a page per row at a time, for every softmax variant, mask and term. Pages that no row has reached are skipped.
Mixers that change whole rows of scores (`read`), and caches that attend in their own way, get the slots of one layer
gathered for the duration of the step.

State of a fixed size (a memory, the newest tokens of a convolution, the ring buffer of a window) is not in pages. Each
row has its own: a row that shares pages starts from a copy made at the end of the last of them. All layers are copied
at once, so layers of several kinds share the same tokens.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from flax import struct
from jaxtyping import Array, Int, PyTree

from saccade.attention.cache import Cache, KVCache
from saccade.ops.scoring import Scoring, weighted_values
from saccade.types import (
    CachedKeys,
    Features,
    Hidden,
    Keys,
    LayerContext,
    Mixed,
    Pages,
    Pairs,
    Queries,
    State,
    Values,
)


@struct.dataclass
class PagedCache(KVCache):
    """KV cache in pages.

    Attributes: pages, the pool, by page where a cache is by row; None while it is apart from its rows. table, pages of
    each row; None while the host has it. filled, number of tokens of each row.
    """

    pages: Cache | None
    table: Int[Array, 'B W'] | None
    filled: Int[Array, 'B']

    @property
    def size(self) -> int:
        """Slots of a page (P)."""
        return self.pages.positions.shape[1]

    def with_fields(self, **fields: Any) -> 'PagedCache':
        """Return the cache with additional fields of its class, as `Cache.with_fields`."""
        return self.replace(pages=self.pages.with_fields(**fields))

    def append(self, k: CachedKeys, v: Values, features: Features, context: LayerContext) -> 'PagedCache':
        """Return the cache with the tokens of a chunk in the next slots of each row, without its padding."""
        real = context.numbered != 0
        place = self.filled[:, None] + jnp.cumsum(real, axis=1) - 1
        nowhere = self.pages.positions.shape[0]  # writes to a page that does not exist are dropped
        page = jnp.where(real, jnp.take_along_axis(self.table, place // self.size, axis=1), nowhere)

        def put(axis: int, slots: Array, new: Array) -> Array:
            index = (page, *(slice(None),) * (axis - 1), place % self.size)
            return slots.at[index].set(jnp.moveaxis(new, axis, 1), mode='drop')

        return self.replace(
            pages=self.pages.write(put, k, v, features, context), filled=self.filled + jnp.sum(real, axis=1)
        )

    def attend(self, q: Queries, scoring: Scoring, context: LayerContext) -> Mixed:
        """Attend queries of the newest tokens to the pages of their rows, one page of each row at a time."""
        if type(self.pages).attend is not Cache.attend:
            return self.whole().attend(q, scoring, context)
        B, T, N, _ = q.shape
        used, S = -(-jnp.max(self.filled) // self.size), self.table.shape[1] * self.size

        def read(page: Int[Array, '']) -> tuple[Keys, Values, Pairs]:
            return self._slots(jax.lax.dynamic_slice_in_dim(self.table, page, 1, 1), page).read(scoring, context)

        def score(turn: Int[Array, ''], found: PyTree) -> PyTree:
            scores, allowed, carry = found
            page = used - 1 - turn
            k, _, pairs = read(page)
            here, carry = scoring.scores(q, k, pairs, carry)
            put = partial(jax.lax.dynamic_update_slice_in_dim, start_index=page * self.size, axis=3)
            return put(scores, here), put(allowed, jnp.broadcast_to(pairs.allowed, (B, 1, T, self.size))), carry

        def mix(page: Int[Array, ''], mixed: Mixed) -> Mixed:
            here = jax.lax.dynamic_slice_in_dim(weights, page * self.size, self.size, 3)
            return mixed + weighted_values(here, read(page)[1])

        nothing = jnp.zeros((B, N, T, S)), jnp.zeros((B, 1, T, S), bool), scoring.init_carry(q)
        scores, allowed, _ = jax.lax.fori_loop(0, used, score, nothing)
        weights = scoring.weights(scores, allowed)
        v = jax.eval_shape(read, used)[1]
        return jax.lax.fori_loop(0, used, mix, jnp.zeros((B, T, N, v.shape[-1]))).astype(v.dtype)

    def whole(self) -> Cache:
        """Return the slots of each row, gathered from its pages."""
        return self._slots(self.table, 0)

    def _slots(self, table: Int[Array, 'B X'], first: Int[Array, ''] | int) -> Cache:
        """Return the slots of these columns of the table, the first of which has this number."""

        def take(axis: int, slots: Array) -> Array:
            return jax.lax.collapse(jnp.moveaxis(slots[table], 1, axis), axis, axis + 2)  # pages and their slots

        taken = self.pages.each(take)
        place = first * self.size + jnp.arange(taken.positions.shape[1])
        live = place < self.filled[:, None]  # a page may have tokens of the row that had it before
        return taken.replace(segments=jnp.where(live, taken.segments, 0), filled=self.filled)


def in_pages(init_state: Callable[[Hidden, int], State], x: Hidden, pages: Pages) -> State:
    """Return an empty state whose KV caches, where they grow with the tokens, are in a pool of pages.

    Args:
        init_state: the state of the rows of its first argument, for a number of tokens.
    """
    by_page = jnp.zeros((pages.count, *x.shape[1:]), x.dtype)
    state, longer, pool = (
        init_state(x, pages.capacity),
        init_state(x, pages.capacity + 1),
        init_state(by_page, pages.size),
    )

    def put(now: Any, longer: Any, pool: Any) -> Any:
        if isinstance(now, Cache) and now.positions.shape != longer.positions.shape:
            return PagedCache(pool, jnp.zeros((x.shape[0], pages.most), jnp.int32), jnp.zeros(x.shape[0], jnp.int32))
        return now

    return jax.tree.map(put, state, longer, pool, is_leaf=lambda node: isinstance(node, Cache))


def is_paged(node: Any) -> bool:
    """Return True for a KV cache in pages."""
    return isinstance(node, PagedCache)


def apart(state: State) -> tuple[list[Cache], State]:
    """Return the pools of a state, and the rest, which is by row: axis 0 of each leaf is the batch."""
    nodes, structure = jax.tree.flatten(state, is_leaf=is_paged)
    rows = [node.replace(pages=None, table=None) if is_paged(node) else node for node in nodes]
    return [node.pages for node in nodes if is_paged(node)], structure.unflatten(rows)


def joined(pools: list[Cache], rows: State, table: Int[Array, 'B W']) -> State:
    """Return the state of pools and rows; the inverse of `apart`."""
    left = iter(pools)
    return jax.tree.map(
        lambda node: node.replace(pages=next(left), table=table) if is_paged(node) else node, rows, is_leaf=is_paged
    )
