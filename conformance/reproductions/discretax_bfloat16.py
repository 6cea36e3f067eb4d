# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""discretax 0.3: S4D does not run in bfloat16, and the damped LinOSS computes its boundaries in it.

S4D gives bfloat16 to an FFT, which JAX has in float32 and float64. The boundaries of the damped LinOSS are
differences of nearly equal numbers, divided by the square of a step; the error depends on the parameters drawn. The
README does not speak of dtypes below float32.

Covers discretax: S4D; bfloat16
Covers discretax: LinOSS, IMEX, damped; bfloat16
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from discretax.sequence_mixers import LinOSSSequenceMixer, S4DSequenceMixer

x = jax.random.normal(jax.random.key(1), (12, 16), jnp.bfloat16)
for kind, damping, draw in ((S4DSequenceMixer, False, 2), *((LinOSSSequenceMixer, damping, draw)
                            for damping in (False, True) for draw in range(2, 6))):  # fmt: skip
    layer = kind(in_features=16, key=jax.random.key(0), state_dim=8, discretization='IMEX', damping=damping)
    leaves, rest = eqx.partition(layer, lambda leaf: eqx.is_array(leaf) and leaf.dtype == jnp.float32)
    leaves = jax.tree.map(lambda leaf: leaf + 0.1 * jax.random.normal(jax.random.key(draw), leaf.shape), leaves)  # noqa: B023
    low = jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16), leaves)
    exact = jax.tree.map(lambda leaf: leaf.astype(jnp.float32), low)
    try:
        y, found = eqx.combine(exact, rest)(x.astype(jnp.float32), None), eqx.combine(low, rest)(x, None)
        print(kind.__name__, 'damped' if damping else '', 'error:', jnp.abs(found - y).max() / jnp.abs(y).max())
    except ValueError as error:
        print(kind.__name__, error)
