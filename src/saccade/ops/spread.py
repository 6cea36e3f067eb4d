# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Rows that are spread over the devices of a named axis, as `pmap` has them: which they are, and all of them."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int


def numbers(count: int, axis: str | None) -> Int[Array, '_']:
    """Return the numbers, in the whole batch, of the rows on this device. Args: axis, None where all rows are here."""
    first = 0 if axis is None else jax.lax.axis_index(axis) * count
    return first + jnp.arange(count)


def gathered(rows: Array, axis: str | None) -> Array:
    """Return the rows of the whole batch, in the order of the devices."""
    return rows if axis is None else jax.lax.all_gather(rows, axis, tiled=True)
