# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Rows sharded over a named device axis, as in `pmap`: their numbers, and gathering."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int


def numbers(count: int, axis: str | None) -> Int[Array, '_']:
    """Return the indices of this device's rows in the whole batch. Args: axis, None if all rows are local."""
    first = 0 if axis is None else jax.lax.axis_index(axis) * count
    return first + jnp.arange(count)


def gathered(rows: Array, axis: str | None) -> Array:
    """Return the rows of the whole batch, in the order of the devices."""
    return rows if axis is None else jax.lax.all_gather(rows, axis, tiled=True)
