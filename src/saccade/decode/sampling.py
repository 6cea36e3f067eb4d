# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sampling of the next token: greedy, or by temperature, top-k, top-p and min-p.

    p = softmax(filters((logits - max) / temperature)),   id ~ p

A filter sets the logits of excluded tokens to -inf and leaves the others unchanged, so filters compose. Each keeps the
most probable token at any setting.
"""

import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from saccade.types import PRNGKey, UserError

Choices = Float[Array, '*B V']


@dataclass(frozen=True)
class Sampler:
    """Sampler of the next token: temperature first, then top-k, top-p and min-p in this order.

    Attributes:
        temperature: divisor of the logits; 0 takes the most probable token.
        top_k: number of tokens to keep; 0 for all.
        top_p: total probability of the tokens to keep; 1 for all.
        min_p: least probability to keep, relative to the most probable token; 0 for all.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0

    def __post_init__(self) -> None:
        if not (self.temperature >= 0 and math.isfinite(self.temperature)):
            raise UserError(f'temperature: must be at least 0 and finite, not {self.temperature}; 0 is greedy')
        if self.top_k < 0:
            raise UserError(f'top_k: must be a number of tokens, or 0 for all, not {self.top_k}')
        if not 0 < self.top_p <= 1:
            raise UserError(f'top_p: must be above 0 and at most 1, which keeps all, not {self.top_p}')
        if not 0 <= self.min_p <= 1:
            raise UserError(f'min_p: must lie between 0, which keeps all, and 1, not {self.min_p}')

    def __call__(self, logits: Choices, key: PRNGKey) -> Int[Array, '*B']:
        """Sample a token for each row."""
        if self.temperature == 0:
            return jnp.argmax(logits, axis=-1)
        return jax.random.categorical(key, self.filtered(logits), axis=-1)

    def filtered(self, logits: Choices) -> Choices:
        """Return the logits of the sampling distribution, in float32; the temperature is above 0."""
        logits = logits.astype(jnp.float32)
        # The highest logit becomes 0, so that none overflows at a small temperature.
        logits = (logits - jnp.max(logits, axis=-1, keepdims=True)) / self.temperature
        if self.top_k:
            logits = keep_top_k(logits, self.top_k)
        if self.top_p < 1:
            logits = keep_top_p(logits, self.top_p)
        return keep_min_p(logits, self.min_p) if self.min_p else logits


def keep_top_k(logits: Choices, k: int) -> Choices:
    """Keep the k most probable tokens; of equally probable ones, the lower ids.

    Fan, Lewis and Dauphin 2018, "Hierarchical Neural Story Generation", section 5.4,
    https://arxiv.org/abs/1805.04833
    """
    values, ids = jax.lax.top_k(logits, min(k, logits.shape[-1]))
    return _only(logits, ids, values)


def keep_top_p(logits: Choices, p: float) -> Choices:
    """Keep the nucleus: the smallest set of most probable tokens with a total probability of at least p.

    Holtzman et al. 2020, "The Curious Case of Neural Text Degeneration", equation 2,
    https://arxiv.org/abs/1904.09751
    """
    ids = jnp.argsort(logits, axis=-1, descending=True)
    values = jnp.take_along_axis(logits, ids, axis=-1)
    probabilities = jax.nn.softmax(values, axis=-1)
    before = jnp.cumsum(probabilities, axis=-1) - probabilities
    # Always keep the first: `before` may be rounded up to p.
    kept = (before < p).at[..., 0].set(True)
    return _only(logits, ids, jnp.where(kept, values, -jnp.inf))


def keep_min_p(logits: Choices, p: float) -> Choices:
    """Keep the tokens at least p times as probable as the most probable one.

    Nguyen et al. 2024, "Turning Up the Heat: Min-p Sampling for Creative and Coherent LLM Outputs", section 3,
    https://arxiv.org/abs/2407.01082
    """
    least = jnp.max(logits, axis=-1, keepdims=True) + jnp.log(p)
    return jnp.where(logits >= least, logits, -jnp.inf)


def _only(logits: Choices, ids: Int[Array, '*B K'], values: Float[Array, '*B K']) -> Choices:
    """Return logits that are `values` at `ids` and -inf elsewhere."""
    return jnp.put_along_axis(jnp.full_like(logits, -jnp.inf), ids, values, axis=-1, inplace=False)
