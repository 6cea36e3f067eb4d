# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Grouped latent attention (GLA): several latents a token, each of which serves a group of the query heads.

    c_gj = norm(x_j Wc_g);   k_nj = [c_gj Uk_n ; rotate(x_j Wr)],   v_nj = c_gj Uv_n,   g the group of head n

Zadouri, Strauss, Dao 2025, "Hardware-Efficient Attention for Fast Decoding", https://arxiv.org/abs/2505.21487; two
latents of half the width each are the paper's. Gated linear attention, `attention.gated_linear`, is GLA too. With one
latent it is `attention.latent`. The norm has one gain for all latents: what others would change, Uk and Uv can. The
state holds K latents and one rotated key, K R + H' numbers a token, and each latent can lie on a device of its own. A
step copies the rotated key to each latent, which the paper's kernel does not. Cost and limits are those of Latent.
"""

from typing import Any, ClassVar

import jax.numpy as jnp
from einops import rearrange
from jaxtyping import Array, Float

from saccade.attention.cache import CompactCache, slots_for
from saccade.attention.latent import Latent, beside_rotated
from saccade.axes import flat, parameter
from saccade.ops.project import each_head, project
from saccade.types import (
    CachedKeys,
    Capabilities,
    Count,
    Hidden,
    Keys,
    Part,
    Source,
    State,
    UserError,
    Values,
)

__all__ = ['GroupedLatent']


class GroupedLatent(Latent, kw_only=True):
    """Grouped latent attention.

    Attributes: those of Latent, with the rank R of each latent; latents, K, a divisor of the heads.
    """

    latents: Count

    capabilities: ClassVar[Capabilities] = Capabilities(content=False, scores=True, state='S (K R + H)')
    example: ClassVar[dict[str, Any]] = Latent.example | dict(latents=2)

    def init_state(self, x: Hidden, capacity: int) -> State:
        """Return an empty cache of latents, and of one rotated key a token, for up to `capacity` tokens a row."""
        shapes = (1, self.rotated_width), (self.latents, self.rank)
        rotated, latent = (jnp.zeros((*x.shape[:2], *shape), x.dtype) for shape in shapes)
        return CompactCache.empty(rotated, latent, slots_for(self.mask(), capacity), expand=latents_and_rotated)

    def make_latent(self, source: Source) -> Float[Array, 'B S K R']:
        """Return the normalised latents of each token.

        Raises:
            UserError: the latents do not divide the heads.
        """
        name = Part(type(self)).name
        if self.heads % self.latents:
            raise UserError(f'{name}: {self.heads} heads cannot share {self.latents} latents: choose a divisor')
        shape = (source.hidden.shape[-1], self.latents, self.rank)
        down = parameter(self, 'latent', 'D -> K R', flat(self.kernel_init, 1), shape)
        return each_head(self.norm(name='latent_norm'), project(source.hidden, down), source.real)

    def expand(self, latent: Float[Array, 'B S K R'], up: Float[Array, 'R N H']) -> Float[Array, 'B S N H']:
        """Return keys or values of every head, made from the latent of its group."""
        up = rearrange(up, 'R (K G) H -> R K G H', K=self.latents)
        return rearrange(jnp.einsum('BSKR,RKGH->BSKGH', latent, up), 'B S K G H -> B S (K G) H')

    def cached(self, latent: Float[Array, 'B T K R'], rotated: Float[Array, 'B T 1 _']) -> tuple[CachedKeys, Values]:
        """Return what is written into the cache: the rotated key, and the latents as values."""
        return rotated, latent


def latents_and_rotated(rotated: Float[Array, 'B S 1 _'], latent: Float[Array, 'B S K R']) -> tuple[Keys, Values]:
    """Return keys and values of a cache: the latents are both, and the rotated key stands after each in the keys."""
    return beside_rotated(latent, rotated), latent
