# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Rows without gaps: padding, which is segment 0, goes to the end, so that neighbours in the text are neighbours."""

import jax.numpy as jnp
from jaxtyping import Array, Int


def padding_last(segments: Int[Array, 'B T']) -> Int[Array, 'B T']:
    """Return, for each row, the order of its places that keeps tokens in theirs and puts padding after them."""
    return jnp.argsort(segments == 0, axis=-1, stable=True)
