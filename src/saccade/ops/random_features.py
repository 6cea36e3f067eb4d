# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Positive random features of the exponential kernel: exp(q.k) is the mean over w of phi_w(q) phi_w(k)."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


@functools.cache
def orthogonal_directions(count: int, width: int, seed: int) -> Float[np.ndarray, 'R H']:
    """Draw normal vectors, orthogonal in groups of `width` (Choromanski et al. 2021, section 2.4).

    Their norms are drawn as for independent normal vectors, so each vector is normal. The random generator is NumPy's
    legacy generator with a frozen stream, so the features of a model never change.
    """
    random = np.random.RandomState(seed)
    squares = [_rotation(random.standard_normal((width, width))) for _ in range(-(-count // width))]
    lengths = np.linalg.norm(random.standard_normal((count, width)), axis=1)
    return (lengths[:, None] * np.concatenate(squares)[:count]).astype(np.float32)


def _rotation(normal: Float[np.ndarray, 'H H']) -> Float[np.ndarray, 'H H']:
    """Return a uniformly distributed orthogonal matrix; the signs of the QR factors are fixed here."""
    q, r = np.linalg.qr(normal)
    return (q * np.sign(np.diag(r))).T


def positive_features(
    x: Float[Array, '*B H'], directions: Float[np.ndarray, 'R H']
) -> tuple[Float[Array, '*B R'], Float[Array, '*B']]:
    """Return exp(w.x - |x|^2 / 2) of each direction w (equation 5), scaled to a maximum of 1, and the log scale."""
    x = x.astype(jnp.float32)
    exponents = jnp.einsum('...H,RH->...R', x, directions) - jnp.sum(x * x, axis=-1, keepdims=True) / 2
    gain = jax.lax.stop_gradient(exponents.max(axis=-1, keepdims=True))
    return jnp.exp(exponents - gain), gain[..., 0]
