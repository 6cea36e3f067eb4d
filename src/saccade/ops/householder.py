# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Products of Householder-like matrices between a query and the keys before it.

    H_t = I - b_t w_t w_t^T,    q_i . H_i H_(i-1) ... H_(j+1) k_j = q_i . k_j - sum over t of (q_i . w_t) u_tj
    u_tj = b_t (w_t . k_j - sum over s of (w_t . w_s) u_sj),    j < s < t <= i

u is the solution of a unit lower triangular system (the UT transform: Yang et al. 2025, section 3,
https://arxiv.org/abs/2505.16381). Sequences are processed in chunks: after each, all earlier keys are replaced by
H_t ... k_j, and the next one starts from there.
"""

import jax
import jax.numpy as jnp
from einops import rearrange
from jaxtyping import Array, Float

from saccade.ops.blocks import Tokens
from saccade.ops.delta import solve_unit_lower
from saccade.ops.scoring import grouped_products
from saccade.types import Keys, Queries


def transform(
    q: Queries,
    k: Keys,
    w: Float[Array, 'B T K H'],
    b: Float[Array, 'B T K'],
    queries: Tokens,
    keys: Tokens,
) -> tuple[Float[Array, 'B N T S'], Keys]:
    """Return the products of queries and keys with the matrices between them, and the keys after these tokens.

    Both are in float32.

    Args:
        k: keys of these tokens, and earlier keys already transformed by the matrices of all earlier tokens.
        w: unit vector of each token.
        queries, keys: position and segment of each; tokens transform only keys of their own segment.
    """
    q, k, w, b = (x.astype(jnp.float32) for x in (q, k, w, b))
    K = k.shape[2]
    share = jnp.swapaxes(b, 1, 2)[..., None]
    below = jnp.where(queries.after(queries), share * grouped_products(w, w), 0.0)
    taken = solve_unit_lower(below, jnp.where(queries.after(keys), share * grouped_products(w, k), 0.0))
    found = rearrange(jnp.where(queries.causal(queries), grouped_products(q, w), 0.0), 'B (K G) T S -> B K G T S', K=K)
    lost = rearrange(jnp.einsum('BKGTR,BKRS->BKGTS', found, taken), 'B K G T S -> B (K G) T S')
    return grouped_products(q, k) - lost, k - jnp.einsum('BTKH,BKTS->BSKH', w, taken)


def transform_all(
    q: Queries, k: Keys, w: Keys, b: Float[Array, 'B T K'], tokens: Tokens, chunk: int
) -> Float[Array, 'B N T S']:
    """Return the products of whole sequences with the matrices between them, in float32, `chunk` tokens at a time."""
    T = q.shape[1]
    chunk = min(chunk, T)
    count = -(-T // chunk)

    def cut(x: Array) -> Array:
        padded = jnp.pad(x, ((0, 0), (0, count * chunk - T), *((0, 0),) * (x.ndim - 2)))
        return rearrange(padded, 'B (count C) ... -> count B C ...', count=count)

    def advance(keys: Keys, part: tuple[Array, ...]) -> tuple[Keys, Float[Array, 'B N C S']]:
        q, w, b, positions, segments = part
        products, keys = transform(q, keys, w, b, Tokens(positions, segments), tokens)
        return keys, products

    parts = tuple(cut(x) for x in (q, w, b, tokens.positions, tokens.segments))
    _, products = jax.lax.scan(advance, k.astype(jnp.float32), parts)
    return rearrange(products, 'count B N C S -> B N (count C) S')[:, :, :T]
