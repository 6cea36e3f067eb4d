# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Score terms of the parts in `score/`: other functions of query and key than the dot product, and forget gates.

Each adds the difference to the scores, so biases may come before or after it.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
from einops import rearrange, repeat
from flax import struct
from jaxtyping import Array, Float, PyTree

from saccade.ops.scoring import grouped_products
from saccade.ops.term import TermBase
from saccade.types import Keys, Pairs, Queries, Scores

SHORTEST = 1e-12  # minimum norm in a division, as in torch's `normalize`


@struct.dataclass
class SquaredDistance(TermBase):
    """L2 score: turns scale q.k into -scale/2 |q - k|^2."""

    def __call__(self, scores: Scores, q: Queries, k: Keys, pairs: Pairs, carry: PyTree) -> tuple[Scores, PyTree]:
        of_q, of_k = _per_pair(_squared(q), _squared(k))
        return scores - 0.5 * pairs.scale * (of_q + of_k), carry


@struct.dataclass
class Cosine(TermBase):
    """Cosine score: turns scale q.k into gain q.k / (|q| |k|).

    The product is computed again; if no other term comes before, the compiler merges it with the first.

    Attributes:
        gain: factor of the cosine, one per head.
    """

    gain: Float[Array, ' N']

    def __call__(self, scores: Scores, q: Queries, k: Keys, pairs: Pairs, carry: PyTree) -> tuple[Scores, PyTree]:
        of_q, of_k = _per_pair(_inverse_length(q), _inverse_length(k))
        change = self.gain[:, None, None] * of_q * of_k - pairs.scale
        return scores + change * grouped_products(q, k), carry


@struct.dataclass
class Additive(TermBase):
    """Additive score: turns scale q.k into v.tanh(q + k) (Bahdanau et al. 2015, appendix A.1.2).

    Attributes:
        out: v of each head.
    """

    out: Float[Array, 'N H']

    def __call__(self, scores: Scores, q: Queries, k: Keys, pairs: Pairs, carry: PyTree) -> tuple[Scores, PyTree]:
        grouped = rearrange(q, 'B T (K G) H -> B K G T 1 H', K=k.shape[-2])
        together = jnp.tanh(grouped + rearrange(k, 'B S K H -> B K 1 1 S H'))
        out = rearrange(self.out, '(K G) H -> K G H', K=k.shape[-2])
        added = jnp.einsum('BKGTSH,KGH->BKGTS', together, out, preferred_element_type=jnp.float32)
        product = pairs.scale * grouped_products(q, k) if pairs.scale else 0.0
        return scores - product + rearrange(added, 'B K G T S -> B (K G) T S'), carry


def _squared(x: Float[Array, 'B T N H']) -> Float[Array, 'B T N']:
    return jnp.sum(jnp.square(x.astype(jnp.float32)), axis=-1)


def _inverse_length(x: Float[Array, 'B T N H']) -> Float[Array, 'B T N']:
    squared = _squared(x)
    long = squared > SHORTEST**2
    return jnp.where(long, jax.lax.rsqrt(jnp.where(long, squared, 1.0)), 0.0)


def _per_pair(
    of_q: Float[Array, 'B T N'], of_k: Float[Array, 'B S K']
) -> tuple[Float[Array, 'B N T 1'], Float[Array, 'B N 1 S']]:
    G = of_q.shape[-1] // of_k.shape[-1]
    return rearrange(of_q, 'B T N -> B N T 1'), repeat(of_k, 'B S K -> B (K G) 1 S', G=G)


@struct.dataclass
class ForgottenKeys(TermBase):
    """Forgetting attention: adds the log gates of the keys after a key, up to the query (Lin et al. 2025, equation 3).

    Instead of the keys it gets their log gates [B S K G], one for each query head.
    """

    by_distance: ClassVar[bool] = True

    def init_carry(self, q: Queries) -> PyTree:
        """Return sums of zero, [B N T]."""
        B, T, N, _ = q.shape
        return jnp.zeros((B, N, T))

    def __call__(
        self, scores: Scores, q: Queries, k: Float[Array, 'B S K G'], pairs: Pairs, carry: PyTree
    ) -> tuple[Scores, PyTree]:
        logs = rearrange(k.astype(jnp.float32), 'B S K G -> B (K G) 1 S')
        distance = pairs.distance if pairs.distance.ndim == 2 else pairs.distance[:, None]
        own = jnp.where(pairs.allowed & (distance <= 0), logs, 0.0)
        upto = jax.lax.cumsum(own, axis=own.ndim - 1, reverse=True)
        return scores + (upto - own) + carry[..., None], carry + upto[..., 0]
