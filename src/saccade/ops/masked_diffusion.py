# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Masked diffusion: at time t, each token is independently [MASK] with probability (1 - e) t, and else itself.

    sigma(t) = -log(1 - (1 - e) t),   alpha = exp(-sigma),   -alpha' / (1 - alpha) = 1 / t

Sahoo et al. 2024, "Simple and Effective Masked Diffusion Language Models", sections 3.2 to 3.4 and appendix B,
https://arxiv.org/abs/2406.07524, with the log-linear noise of Lou et al. 2023, https://arxiv.org/abs/2310.16834.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from saccade.ops.masking import RowKeys
from saccade.types import Logits

_GOLDEN = 2654435769  # the golden ratio, modulo 1, as a share of 2**32: its multiples, modulo 1, are spread evenly


def places_of(rows: Int[Array, 'B']) -> Float[Array, 'B']:
    """Return numbers from 0 to 1 that are spread evenly over any range of row numbers."""
    return (rows.astype(jnp.uint32) * jnp.uint32(_GOLDEN)).astype(jnp.float32) / 2.0**32


def spread_times(key: Key[Array, ''], places: Float[Array, 'B'], epsilon: float) -> Float[Array, 'B']:
    """Return times from epsilon to 1, each uniform, that are spread as evenly as `places` are, modulo 1."""
    return epsilon + (1 - epsilon) * jnp.mod(jax.random.uniform(key) + places, 1.0)


def noised(keys: RowKeys, words: Int[Array, 'B T'], times: Float[Array, 'B'], epsilon: float) -> Bool[Array, 'B T']:
    """Return True for each token that is [MASK] at its row's time; `words` is 0 for what never is."""
    drawn = jax.vmap(lambda key: jax.random.uniform(key, words.shape[1:]))(keys)
    return (words > 0) & (drawn < (1 - epsilon) * times[:, None])


def without_mask(logits: Logits, mask: Int[Array, 'B']) -> Logits:
    """Return the logits with that of [MASK] at -infinity: no token of a text is [MASK]."""
    return jnp.where(jnp.arange(logits.shape[-1]) == mask[:, None, None], -jnp.inf, logits.astype(jnp.float32))
