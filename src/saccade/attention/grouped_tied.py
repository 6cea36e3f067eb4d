# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Grouped-tied attention (GTA): a group's values are one state, and half of it is its keys too.

    s_g = x Ws_g;   v_g = s_g,   k_g = [s_g[1 .. H - H'] ; rotate(x Wr)],   q_n = [q_n ; rotate(q'_n)]

Zadouri, Strauss, Dao 2025, "Hardware-Efficient Attention for Fast Decoding", https://arxiv.org/abs/2505.21487, with
H' = H / 2. The rotated half of the keys is one for all K groups. Tied features are not rotated, as values are not. The
state holds K H + H' numbers a token, where grouped-query attention has 2 K H. A step joins the two halves of the keys
of all slots, which the paper's kernel does not. Cost: that of multi-head attention, with a projection less. It needs a
kernel that makes scores.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from saccade.attention.compact_base import Compact, Expand, with_features
from saccade.attention.latent import beside_rotated
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

__all__ = ['GroupedTied']


@dataclass(frozen=True)
class TiedKeys:
    """What makes keys of tied states and a rotated key. Attributes: rotated_width, H' of the rotated key."""

    rotated_width: int

    def __call__(self, cached: Float[Array, 'B S 1 _'], tied: Values) -> tuple[Keys, Values]:
        """Return keys, with the features that stand after the rotated key, and the tied states as values."""
        rotated, features = jnp.split(cached, [self.rotated_width], axis=-1)
        k = beside_rotated(tied[..., : tied.shape[-1] - self.rotated_width], rotated)
        return with_features(k, features), tied


class GroupedTied(Compact, kw_only=True):
    """Grouped-tied attention.

    Attributes: those of MultiHead, where `key_value_heads` counts the tied states and `head_norm` is of queries and of
    the rotated key; rotated_width, H', the last features of each query and key, which positions change.
    """

    rotated_width: Count

    capabilities: ClassVar[Capabilities] = Capabilities(scores=True, state='S (K H + H)')
    example: ClassVar[dict[str, Any]] = {'rotated_width': 2}

    @property
    def expansion(self) -> Expand:
        """The function that makes keys of tied states and the rotated key."""
        return TiedKeys(self.rotated_width)

    def projections(self, D: int) -> dict[str, tuple[str, tuple[int, int]]]:
        """Return the axes of what each projection makes, and their sizes: one rotated key, and K tied states."""
        return super().projections(D) | {'key': ('K H', (1, self.rotated_width))}

    def kv_shapes(self, D: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return heads and width of the rotated key, and of the tied states, at width D."""
        return (1, self.rotated_width), super().kv_shapes(D)[1]

    def rotate(
        self,
        position: PairPosition,
        q: Queries,
        k: CachedKeys,
        q_positions: Int[Array, 'B T'],
        k_positions: Int[Array, 'B S'],
    ) -> tuple[Queries, CachedKeys]:
        """Return queries whose last H' features, and the one key, are changed by their positions."""
        plain, rotated = jnp.split(q, [q.shape[-1] - self.rotated_width], axis=-1)
        k = k[..., : self.rotated_width]  # without heads, where keys were made before, it is as wide as the queries
        rotated, k = super().rotate(position, rotated, k, q_positions, k_positions)
        return jnp.concatenate([plain, rotated], axis=-1), k

    def sizes(self, D: int) -> tuple[int, int, int]:
        """Return N, K and H at width D.

        Raises:
            UserError: the rotated key is wider than a head; and as for MultiHead.
        """
        N, K, H = super().sizes(D)
        name = Part(type(self)).name
        if self.rotated_width > H:
            raise UserError(f'{name}: rotated_width {self.rotated_width} is more than the {H} features of a head')
        return N, K, H
