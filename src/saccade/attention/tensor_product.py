# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Tensor product attention (TPA): queries, keys and values are sums of products of head factors and feature factors.

    k_n = 1/R sum_r a_r[n] b_r,   a = x Wa [R N], b = x Wb [R H];   the same for q and v, each with its own rank R

Zhang et al. 2025, "Tensor Product Attention Is All You Need", sections 3.1 to 3.3, https://arxiv.org/abs/2501.06425
Positions rotate the feature factors b of the keys, which rotates the keys. The state has factors,
(R_k + R_v) (K + H) numbers per token. With a constant over tokens it is multi-head or grouped-query attention:
with biases these are special cases of its parameters (section 3.4). Without `query_rank` queries are plain projections,
the paper's TPA-KVonly. A step recomputes keys and values of all slots. It needs a score-based kernel, and does not
support `head_norm`, which does not commute with the factors.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp
from einops import rearrange
from jaxtyping import Array, Float, Int

from saccade.attention.compact_base import Compact, Expand
from saccade.types import (
    CachedKeys,
    Capabilities,
    Count,
    Keys,
    PairPosition,
    Part,
    Queries,
    UserError,
    Values,
)

__all__ = ['TensorProduct']


@dataclass(frozen=True)
class Products:
    """Expansion of factors to keys and values. Attributes: heads (K); ranks of the keys and of the values."""

    heads: int
    key_rank: int
    value_rank: int

    def __call__(self, k: CachedKeys, v: Values) -> tuple[Keys, Values]:
        """Return the keys and the values: the products of their factors."""
        return tuple(product(*apart(x, rank, self.heads)) for x, rank in ((k, self.key_rank), (v, self.value_rank)))


class TensorProduct(Compact):
    """Tensor product attention.

    Attributes: the attributes of MultiHead, where `bias` is added to the factors, and
        key_rank: rank of keys (R_k).
        value_rank: rank of values (R_v).
        query_rank: rank of queries (R_q); None for plain projections of queries.
    """

    key_rank: Count
    value_rank: Count
    query_rank: Count | None = None

    capabilities: ClassVar[Capabilities] = Capabilities(scores=True, state='S R (K + H)')
    example: ClassVar[dict[str, Any]] = {'key_rank': 2, 'value_rank': 3, 'query_rank': 5}

    @property
    def expansion(self) -> Expand:
        """Return the expansion of factors to keys and values."""
        return Products(self.key_value_heads or self.heads, self.key_rank, self.value_rank)

    def projections(self, D: int) -> dict[str, tuple[str, tuple[int, int]]]:
        """Return the output axes of each projection and their sizes: head factors and feature factors."""
        N, K, H = self.sizes(D)
        axes, heads = {'query': 'R N', 'key': 'R K', 'value': 'R K'}, {'query': N, 'key': K, 'value': K}
        found = super().projections(D)
        for name, rank in self._ranks.items():
            found |= {f'{name}_heads': (axes[name], (rank, heads[name])), f'{name}_features': ('R H', (rank, H))}
        return found

    def project_heads(self, inputs: Mapping[str, Array], D: int) -> dict[str, Array]:
        """Return queries in heads, and the flattened factors of keys and values as one head."""
        needed = {}
        for name, x in inputs.items():
            needed |= {f'{name}_heads': x, f'{name}_features': x} if name in self._ranks else {name: x}
        made = super().project_heads(needed, D)
        for name in self._ranks.keys() & inputs.keys():
            together = product if name == 'query' else flat
            made[name] = together(made.pop(f'{name}_heads'), made.pop(f'{name}_features'))
        return made

    @property
    def _ranks(self) -> dict[str, int]:
        """Return the rank of each factored projection."""
        of_queries = {} if self.query_rank is None else {'query': self.query_rank}
        return of_queries | {'key': self.key_rank, 'value': self.value_rank}

    def kv_shapes(self, D: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return heads and width of all factors of a token's keys, and of its values, at width D."""
        _, K, H = self.sizes(D)
        return (1, self.key_rank * (K + H)), (1, self.value_rank * (K + H))

    def rotate(
        self,
        position: PairPosition,
        q: Queries,
        k: CachedKeys,
        q_positions: Int[Array, 'B T'],
        k_positions: Int[Array, 'B S'],
    ) -> tuple[Queries, CachedKeys]:
        """Apply positions to the queries, and to the feature factors of the keys."""
        if not k.shape[-2]:
            return super().rotate(position, q, k, q_positions, k_positions)
        heads, features = apart(k, self.key_rank, self.key_value_heads or self.heads)
        q, features = super().rotate(position, q, features, q_positions, k_positions)
        return q, flat(heads, features)

    def sizes(self, D: int) -> tuple[int, int, int]:
        """Return N, K and H at width D.

        Raises:
            UserError: `head_norm` is given; and as for MultiHead.
        """
        if self.head_norm is not None:
            name = Part(type(self)).name
            raise UserError(f'{name} caches factors of keys, and head_norm is of whole keys: leave it out')
        return super().sizes(D)


def product(heads: Float[Array, 'B T R N'], features: Float[Array, 'B T R H']) -> Float[Array, 'B T N H']:
    """Return the mean over the ranks of the products of head factors and feature factors."""
    return jnp.einsum('BTRN,BTRH->BTNH', heads, features) / heads.shape[-2]


def flat(*factors: Float[Array, 'B T R _']) -> Float[Array, 'B T 1 _']:
    """Concatenate flattened head factors and feature factors as one head."""
    return jnp.concatenate([rearrange(x, 'B T R H -> B T 1 (R H)') for x in factors], axis=-1)


def apart(x: Float[Array, 'B S 1 _'], rank: int, heads: int) -> tuple[Float[Array, 'B S R K'], Float[Array, 'B S R H']]:
    """Split head factors and feature factors; the inverse of `flat`."""
    a, b = jnp.split(x, [rank * heads], axis=-1)
    return tuple(rearrange(factor, 'B S 1 (R H) -> B S R H', R=rank) for factor in (a, b))
