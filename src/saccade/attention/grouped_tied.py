# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Grouped-tied attention (GTA): the values of a group also provide half of the features of its keys.

    s_g = x Ws_g;   v_g = s_g,   k_g = [s_g[1 .. H - H'] ; rotate(x Wr)],   q_n = [q_n ; rotate(q'_n)]

Zadouri, Strauss, Dao 2025, "Hardware-Efficient Attention for Fast Decoding", https://arxiv.org/abs/2505.21487, with
H' = H / 2. All K groups share the rotated half of the keys. Tied features are not rotated, like values. The
state has K H + H' numbers per token, compared with 2 K H in grouped-query attention. A step concatenates the two halves
of the keys of all slots, unlike the paper's kernel. Cost: multi-head attention with one projection less. It needs a
score-based kernel.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from saccade.attention.compact_base import Compact, Expand
from saccade.attention.latent import append_rotated
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
    """Expansion of tied states and a rotated key to keys and values. Attributes: rotated_width (H')."""

    rotated_width: int

    def __call__(self, rotated: Float[Array, 'B S 1 _'], tied: Values) -> tuple[Keys, Values]:
        """Return the keys, and the tied states as values."""
        return append_rotated(tied[..., : tied.shape[-1] - self.rotated_width], rotated), tied


class GroupedTied(Compact):
    """Grouped-tied attention.

    Attributes: the attributes of MultiHead, where `key_value_heads` counts the tied states and `head_norm` applies to
    queries and to the rotated key; rotated_width (H'), number of last features of each query and key with positions.
    """

    rotated_width: Count

    capabilities: ClassVar[Capabilities] = Capabilities(scores=True, state='S (K H + H)')
    example: ClassVar[dict[str, Any]] = {'rotated_width': 2}

    @property
    def expansion(self) -> Expand:
        """Return the expansion of tied states and rotated key."""
        return TiedKeys(self.rotated_width)

    def projections(self, D: int) -> dict[str, tuple[str, tuple[int, int]]]:
        """Return the output axes of each projection and their sizes: one rotated key, and K tied states."""
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
        """Apply positions to the last H' features of the queries, and to the one key."""
        plain, rotated = jnp.split(q, [q.shape[-1] - self.rotated_width], axis=-1)
        k = k[..., : self.rotated_width]  # with shared KV, k has zero heads of the width of q
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
