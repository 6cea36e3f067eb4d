# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A mixer with parameters drawn by NumPy, which compiles nothing."""

import jax
import jax.numpy as jnp
import numpy as np

from saccade.build import build


def drawn(spec, x, context):
    """Return the module of a spec, and parameters of it."""
    module, random = build(spec)(), np.random.default_rng(1)
    shapes = jax.eval_shape(lambda: module.init(jax.random.key(0), x, context, False))
    return module, jax.tree.map(lambda leaf: jnp.array(random.normal(size=leaf.shape, scale=0.4), leaf.dtype), shapes)
