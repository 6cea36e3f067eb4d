# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Mixture of experts: run each expert on the tokens routed to it, with stacked parameters [E ...].

Routed tokens are placed in G groups of M rows, each with one expert. Without a capacity, groups are blocks that run one
after another: the products are over the routes and the padding of each expert's last block. With a capacity, each
expert has one group of that many rows, and all run at once.

`jax.lax.ragged_dot` needs no padding, but on the CPU it multiplies every row by every expert. For experts on several
devices see `ops.expert_parallel`.
"""

import functools
import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
from flax import struct
from jaxtyping import Array, Bool, Float, Int, PyTree

from saccade.ops.routing import Routes
from saccade.types import PRNGKey

Expert = Callable[[PyTree, Float[Array, 'M D'], PRNGKey | None], Float[Array, 'M D']]

# A block is at most this share of an expert's mean load, so padding adds at most this share to the products.
LARGEST_BLOCK = 1 / 4


@struct.dataclass
class Seats:
    """Placement of routes: the group and row of each route's token.

    Attributes:
        row: row of each route among the G M rows; past the end if the expert is full.
        owner: expert of each group; None if group g belongs to expert g.
        groups, rows: number of groups (G) and rows per group (M).
        filled: number of first groups that run; None for all.
    """

    row: Int[Array, 'R']
    owner: Int[Array, 'G'] | None
    groups: int = struct.field(pytree_node=False)
    rows: int = struct.field(pytree_node=False)
    filled: Int[Array, ''] | None = None

    @property
    def found(self) -> Bool[Array, 'R']:
        """True for each route with a seat."""
        return self.row < self.groups * self.rows


def seats(routes: Routes, experts: int, block: int) -> Seats:
    """Place every wanted route: in blocks of at most `block` rows, or within an expert's capacity."""
    count, rank = ranks(jnp.where(routes.wanted, routes.expert, experts), experts)
    if routes.room is None:
        seated = _seats_in_blocks(routes.expert, count, rank, block)
        served = routes.wanted
    else:
        seated = Seats(routes.expert * routes.room + rank, None, experts, routes.room)
        served = routes.wanted & (rank < routes.limit)
    # Routes without a seat also get different rows, so that rows are unique.
    beyond = seated.groups * seated.rows + jnp.arange(rank.size)
    return seated.replace(row=jnp.where(served, seated.row, beyond))


def ranks(expert: Int[Array, 'R'], experts: int) -> tuple[Int[Array, 'E'], Int[Array, 'R']]:
    """Return the number of routes of each expert, and the rank of each route within its expert."""
    order = jnp.argsort(expert, stable=True)
    count = jnp.bincount(expert, length=experts)
    start = jnp.cumsum(count) - count
    before = jnp.arange(expert.size) - start[expert[order]]
    return count, jnp.zeros_like(before).at[order].set(before, unique_indices=True)


def _seats_in_blocks(expert: Int[Array, 'R'], count: Int[Array, 'E'], rank: Int[Array, 'R'], block: int) -> Seats:
    R, E = expert.size, count.size
    rows = max(1, min(block, math.floor(LARGEST_BLOCK * R / E)))
    groups = (R + min(R, E) * (rows - 1)) // rows  # maximum for any loads
    ends = jnp.cumsum(-(-count // rows))
    first = jnp.concatenate([jnp.zeros(1, ends.dtype), ends[:-1]])
    owner = (jnp.arange(groups)[:, None] >= ends).sum(axis=-1)
    return Seats(first[expert] * rows + rank, jnp.minimum(owner, E - 1), groups, rows)


def serve(
    expert: Expert, params: PyTree, x: Float[Array, 'T D'], routes: Routes, seats: Seats, key: PRNGKey | None
) -> Float[Array, 'T D']:
    """Return the sum over each token's routes of gate * expert(token); zero for a token without routes."""
    made = outputs(expert, params, x, routes.token, seats, key)
    weighted = routes.gate[:, None] * made.astype(jnp.float32)
    return jnp.zeros(x.shape, jnp.float32).at[routes.token].add(weighted).astype(x.dtype)


def outputs(
    expert: Expert, params: PyTree, x: Float[Array, 'T D'], token: Int[Array, 'R'], seats: Seats, key: PRNGKey | None
) -> Float[Array, 'R D']:
    """Return the output of each route's expert on its token; zero for a route without a seat."""
    (T, D), (G, M) = x.shape, (seats.groups, seats.rows)
    seated = jnp.full(G * M, T).at[seats.row].set(token, mode='drop', unique_indices=True)
    given = x.at[seated].get(mode='fill', fill_value=0).reshape(G, M, D)
    keys = None if key is None else jax.random.split(key, G)
    made = (
        _together(expert, params, given, keys)
        if seats.owner is None
        else _by_blocks(expert, params, given, keys, seats)
    )
    return made.reshape(G * M, D).at[seats.row].get(mode='fill', fill_value=0)


def _together(
    expert: Expert, params: PyTree, given: Float[Array, 'E M D'], keys: Array | None
) -> Float[Array, 'E M D']:
    return jax.vmap(expert, in_axes=(0, 0, None if keys is None else 0))(params, given, keys)


def _by_blocks(
    expert: Expert, params: PyTree, given: Float[Array, 'G M D'], keys: Array | None, seats: Seats
) -> Float[Array, 'G M D']:
    # Save each block's products but not its copy of the expert's parameters.
    @functools.partial(jax.checkpoint, policy=jax.checkpoint_policies.dots_with_no_batch_dims_saveable)
    def one(group: Array, owner: Array, x: Float[Array, 'M D'], key: Array | None) -> Float[Array, 'M D']:
        own = jax.tree.map(lambda leaf: jax.lax.dynamic_index_in_dim(leaf, owner, keepdims=False), params)
        if seats.filled is None:
            return expert(own, x, key)
        return jax.lax.cond(group < seats.filled, expert, lambda own, x, key: jnp.zeros_like(x), own, x, key)

    blocks = (jnp.arange(seats.groups), seats.owner, given, keys)
    return jax.lax.scan(lambda _, block: (None, one(*block)), None, blocks)[1]
