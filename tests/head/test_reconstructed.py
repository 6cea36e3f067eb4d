# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Reconstruction head: by its formula in NumPy; a place sees nothing of the row but the pooled vector."""

import jax
import jax.numpy as jnp
import numpy as np

from saccade.build import build
from saccade.head.reconstructed import Reconstructed
from saccade.types import LayerContext, Reading

SEGMENTS = jnp.array([[1, 1, 1, 1], [1, 1, 0, 0]])
READING = Reading(LayerContext(jnp.broadcast_to(jnp.arange(4), (2, 4)), SEGMENTS), None)
X = jax.random.normal(jax.random.key(0), (2, 4, 6))
HEAD = build({'use': 'head.reconstructed:Reconstructed', **Reconstructed.example, 'classes': 5}, '')()
PARAMS = jax.tree.map(lambda leaf: leaf + 0.3, HEAD.init(jax.random.key(1), X, READING, False))


def normed(h, scale):
    return h / np.sqrt((h**2).mean(axis=-1, keepdims=True) + 1e-6) * scale


def test_it_is_a_network_of_the_last_token_and_the_sinusoid_of_the_place():
    weights = jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), PARAMS['params'])
    angles = np.arange(4)[:, None] / 10000.0 ** (np.arange(0, 6, 2) / 6)
    waves = np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(4, 6)
    h = np.asarray(X, np.float64)[[0, 1], [3, 1]][:, None] + waves
    for layer in range(2):
        h = normed(h, weights[f'norm_{layer}']['scale']) @ weights[f'hidden_{layer}'] + weights[f'hidden_{layer}_bias']
        h = np.asarray(jax.nn.gelu(h), np.float64)
    expected = normed(h, weights['norm']['scale']) @ weights['output'] + weights['output_bias']
    np.testing.assert_allclose(HEAD.apply(PARAMS, X, READING, False), expected, rtol=1e-3, atol=1e-4)


def test_scores_depend_on_the_last_token_alone():
    reach = jax.jit(jax.jacrev(lambda x: HEAD.apply(PARAMS, x, READING, False)))(X)  # B T C B T D
    sizes = np.abs(np.asarray(reach)).sum(axis=(1, 2, 5))
    assert sizes[0, 0, 3] > 0
    assert sizes[1, 1, 1] > 0
    sizes[0, 0, 3] = sizes[1, 1, 1] = 0
    assert not sizes.any()
