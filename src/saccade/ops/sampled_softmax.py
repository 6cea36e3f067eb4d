# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sampled softmax: the normaliser of the cross-entropy is estimated from K tokens, so a step does not cost V.

    loss = log(exp(s_y) + 1/K sum over k = 1 .. K with n_k != y of exp(s_(n_k)) / q(n_k)) - s_y,     n_k drawn from q
    q(n) = log((n + 2) / (n + 1)) / log(V + 1)

Bengio, Senecal 2008, "Adaptive Importance Sampling to Accelerate Training of a Neural Probabilistic Language Model",
https://doi.org/10.1109/TNN.2007.912312; Jean et al. 2015, section 3, https://arxiv.org/abs/1412.2007. The estimate of
the normaliser is unbiased, so loss and gradient are those of the softmax as K grows. q is Zipf's law: it suits ids that
are ordered by frequency, but any order is right in the limit. All tokens of a batch share the sample. Cost: B T D K.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from saccade.ops.vocabulary import OutputProjection
from saccade.types import PRNGKey


def sampled_cross_entropy(
    projection: OutputProjection, targets: Int[Array, 'B T'], count: int, key: PRNGKey
) -> Float[Array, 'B T']:
    """Return the loss of each target in float32 nats, with a sample of `count` tokens."""
    V = projection.kernel.shape[0 if projection.tied else 1]
    noise = drawn(key, count, V)
    others = _of(projection, noise).logits().astype(jnp.float32) - jnp.log(count * chances(noise, V))
    others = jnp.where(noise == targets[..., None], -jnp.inf, others)
    own = jax.vmap(jax.vmap(partial(_own, projection)))(projection.hidden, targets).astype(jnp.float32)
    return jax.nn.logsumexp(jnp.concatenate([own[..., None], others], axis=-1), axis=-1) - own


def drawn(key: PRNGKey, count: int, V: int) -> Int[Array, 'K']:
    """Draw tokens from q, with replacement."""
    places = jnp.exp(jax.random.uniform(key, (count,)) * jnp.log(V + 1.0))
    return jnp.clip(places.astype(jnp.int32) - 1, 0, V - 1)


def chances(tokens: Int[Array, 'K'], V: int) -> Float[Array, 'K']:
    """Return q of each token."""
    return jnp.log1p(1.0 / (tokens + 1.0)) / jnp.log(V + 1.0)


def _own(projection: OutputProjection, x: Float[Array, 'D'], token: Int[Array, '']) -> Float[Array, '']:
    """Return the logit of one token after one hidden state."""
    return _of(projection.replace(hidden=x[None, None]), token[None]).logits()[0, 0, 0]


def _of(projection: OutputProjection, tokens: Int[Array, 'K']) -> OutputProjection:
    """Return the projection to some tokens of the vocabulary."""
    kernel = jnp.take(projection.kernel, tokens, axis=0 if projection.tied else 1)
    return projection.replace(kernel=kernel, bias=None if projection.bias is None else projection.bias[tokens])
