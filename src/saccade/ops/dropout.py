# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Dropout of attention weights by pair of indices, the same on every path and for every block size."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool

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
