# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Mixers that make all scores at once, against a loop of their equation: inputs, packed and not, and the comparison."""

import jax
import jax.numpy as jnp
import numpy as np
from drawn import drawn

from saccade.types import LayerContext

RELATIVE = 1e-5
B, T, D, N, K, H = 2, 9, 16, 4, 2, 4
X = jax.random.normal(jax.random.key(0), (B, T, D))
SEGMENTS = jnp.array([[1] * 4 + [2] * 5, [1] * 7 + [0] * 2])
PACKED = LayerContext(jnp.array([[0, 1, 2, 3, 0, 1, 2, 3, 4], [*range(7), 0, 0]]), SEGMENTS)
ALONE = LayerContext(jnp.broadcast_to(jnp.arange(T), (B, T)))
MULTI_HEAD = {
    'use': 'attention.multi_head:MultiHead', 'heads': N, 'key_value_heads': K,
    'kernel': {'use': 'attention.plain:Plain'}, 'mask': {'use': 'ops.mask:Causal'},
    'position': {'use': 'position.none:NoPosition'},
}  # fmt: skip


def near(given, expected):
    given, expected = np.asarray(given), np.asarray(expected)
    np.testing.assert_allclose(given, expected, rtol=0, atol=RELATIVE * np.abs(expected).max())


def whole(module, variables, context):
    return jax.jit(lambda variables: module.apply(variables, X, context, False))(variables)


def assert_equals_loop(spec, context, by_loops):
    """Compare each row with `by_loops(params, x, segments)`, in float64, where it has tokens."""
    module, variables = drawn(spec, X, context)
    found = whole(module, variables, context)
    exact = jax.tree.map(np.float64, variables['params'])
    for row in range(B):
        segments = np.asarray(context.numbered[row])
        near(found[row][segments != 0], by_loops(exact, np.float64(X[row]), segments)[segments != 0])
