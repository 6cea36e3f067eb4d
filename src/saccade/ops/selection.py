# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Selection of keys for sparse attention, by blocks of queries: memory is linear in T, with no T x S array.

    best, at  <-  the C largest of (best, scores of a block of keys)

A running top-k over blocks of keys equals the top-k of the whole row, also in the order of equal scores.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from einops import rearrange
from jaxtyping import Array, Float, Int, PyTree

from saccade.ops.blockwise import BlockPlan, cut_rows, pad, pairs_of, set_rows, whole_row
from saccade.ops.gathered import blocks_of
from saccade.ops.scoring import Scoring
from saccade.types import Mask, Queries

_KEYS = 8  # a block of keys has this many times the chosen keys, or sorting these again takes longer than the scores


def by_blocks_of_queries(function: Callable[..., PyTree], size: int, *queries: PyTree) -> PyTree:
    """Apply a function to blocks of `size` queries, recomputed in the backward pass; to all at once if they are fewer.

    Args:
        queries: leaves [#B T ...]; the function gets them in blocks, and returns leaves [B T ...].
    """
    T = jax.tree.leaves(queries)[0].shape[1]
    if size >= T:
        return function(*queries)
    blocks = jax.tree.map(lambda x: blocks_of(x, size), queries)
    outputs = jax.lax.map(jax.checkpoint(lambda block: function(*block)), blocks)
    return jax.tree.map(lambda y: rearrange(y, 'V B X ... -> B (V X) ...')[:, :T], outputs)


def best_keys(
    q: Queries,
    k: Float[Array, 'B S 1 H'],
    weight: Float[Array, 'B T N'],
    mask: Mask,
    chosen: int,
    blocks: tuple[int, int],
) -> Int[Array, 'B T C']:
    """Return the indices of the allowed keys of largest relevance to each query, best first; S for none.

    Args:
        blocks: queries and keys in a block.
    """
    q, k, weight = jax.lax.stop_gradient((q, k, weight))
    B, T, S = *q.shape[:2], k.shape[1]
    if chosen >= S:
        places = jnp.arange(T), jnp.arange(S)
        return jnp.broadcast_to(jnp.where(mask(*places), places[1], S), (B, T, S))
    scoring, sizes = Scoring(mask), (min(blocks[0], T), min(max(blocks[1], _KEYS * chosen), S))
    plan = BlockPlan.make(scoring, sizes, q)
    q, k, weight = pad(q, sizes[0]), pad(k, sizes[1]), pad(weight[..., None], sizes[0])[..., 0]

    def visit(state: tuple[Array, Array], this: PyTree) -> tuple[tuple[Array, Array], None]:
        best, at = (cut_rows(x, this.q, sizes[0]) for x in state)
        fit = relevance(
            *(
                cut_rows(x, i, n)
                for x, i, n in ((q, this.q, sizes[0]), (k, this.k, sizes[1]), (weight, this.q, sizes[0]))
            )
        )
        pairs = pairs_of(plan, scoring, this)
        # Blocks come from last to first, and of equal scores the first key is chosen.
        scores = jnp.concatenate([jnp.where(pairs.allowed[:, 0], fit, -jnp.inf), best], axis=-1)
        indices = jnp.concatenate([jnp.broadcast_to(pairs.k_index, fit.shape), at], axis=-1)
        best, places = jax.lax.top_k(scores, chosen)
        at = jnp.take_along_axis(indices, places, axis=-1)
        return tuple(set_rows(x, part, this.q) for x, part in zip(state, (best, at), strict=True)), None

    shape = B, q.shape[1], chosen
    best, at = jax.lax.scan(visit, (jnp.full(shape, -jnp.inf), jnp.full(shape, S)), whole_row(plan, mask, (T, S)))[0]
    return jnp.where(best > -jnp.inf, at, S)[:, :T]


def relevance(q: Queries, k: Float[Array, 'B S 1 H'], weight: Float[Array, 'B T N']) -> Float[Array, 'B T S']:
    """Return I of each pair, in float32: the sum over the indexer's heads of weight times relu(q . k)."""
    products = jnp.einsum('BTNH,BSH->BTNS', q, k[:, :, 0], preferred_element_type=jnp.float32)
    return jnp.einsum('BTN,BTNS->BTS', weight.astype(jnp.float32), jax.nn.relu(products))
