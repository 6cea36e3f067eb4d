# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Dropout of attention weights by pair of indices, the same on every path and for every block size."""

import jax
import jax.numpy as jnp
from einops import rearrange
from jaxtyping import Array, Bool, Int

from saccade.types import KeyIndex, PRNGKey, QueryIndex


def keep_pairs(
    key: PRNGKey, share: float, shape: tuple[int, int], q_index: QueryIndex, k_index: KeyIndex
) -> Bool[Array, 'B N T S']:
    """Draw the dropout mask of each pair of indices for `shape` = (B, N): True, with probability `share`, for kept."""
    fold_q = jax.vmap(jax.random.fold_in, (None, 0))
    fold_k = jax.vmap(jax.vmap(jax.random.fold_in, (None, 0)), (0, None))
    keys = fold_k(fold_q(key, q_index), k_index)
    draw = jax.vmap(jax.vmap(lambda pair: jax.random.bernoulli(pair, share, shape)))
    return jnp.moveaxis(draw(keys), (0, 1), (-2, -1))


def keep_chosen(
    key: PRNGKey,
    share: float,
    shape: tuple[int, int],
    rows: Int[Array, 'B'],
    q_index: Int[Array, 'B J T'],
    k_index: Int[Array, 'B J S'],
) -> Bool[Array, 'B N T S']:
    """Draw the mask of `keep_pairs` where each row, and group of heads, has queries and keys of its own.

    Args:
        rows: row of the batch of B in `shape` that each row of indices belongs to.
    """
    J = q_index.shape[1]

    def of_group(row: Array, group: Array, q_index: Array, k_index: Array) -> Array:
        drawn = keep_pairs(key, share, shape, q_index, k_index)
        return rearrange(drawn, 'B (J G) T S -> B J G T S', J=J)[row, group]

    drawn = jax.vmap(jax.vmap(of_group, (None, 0, 0, 0)), (0, None, 0, 0))(rows, jnp.arange(J), q_index, k_index)
    return rearrange(drawn, 'B J G T S -> B (J G) T S')
