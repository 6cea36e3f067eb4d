# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Grouped latent attention (GLA): several latents per token, one for each group of query heads.

    c_gj = norm(x_j Wc_g);   k_nj = [c_gj Uk_n ; rotate(x_j Wr)],   v_nj = c_gj Uv_n,   g the group of head n

Zadouri, Strauss, Dao 2025, "Hardware-Efficient Attention for Fast Decoding", https://arxiv.org/abs/2505.21487; two
latents of half the width each are the paper's. Gated linear attention, `attention.gated_linear`, is also called GLA.
One latent is `attention.latent`. The norm has one gain for all latents; Uk and Uv can represent others. The
state has K latents and one rotated key, K R + H' numbers per token, and each latent can be on its own device. A
step copies the rotated key to each latent, unlike the paper's kernel. Cost and limits are as for Latent.
"""

from typing import Any, ClassVar

import jax.numpy as jnp
from einops import rearrange
from jaxtyping import Array, Float

from saccade.attention.cache import CompactCache, slots_for
from saccade.attention.latent import Latent, append_rotated
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


class GroupedLatent(Latent):
    """Grouped latent attention.

    Attributes: the attributes of Latent, with the rank R of each latent; number of latents (K), a divisor of the heads.
    """

    latents: Count

    capabilities: ClassVar[Capabilities] = Capabilities(content=False, scores=True, state='S (K R + H)')
    example: ClassVar[dict[str, Any]] = Latent.example | dict(latents=2)

    def init_state(self, x: Hidden, capacity: int) -> State:
        """Return an empty cache of latents and one rotated key per token, for up to `capacity` tokens per row."""
        shapes = (1, self.rotated_width), (self.latents, self.rank)
        rotated, latent = (jnp.zeros((*x.shape[:2], *shape), x.dtype) for shape in shapes)
        return CompactCache.empty(rotated, latent, {}, slots_for(self.mask(), capacity), expand=latents_and_rotated)

    def make_latent(self, source: Source) -> Float[Array, 'B S K R']:
        """Return the normalised latents of each token.

        Raises:
            UserError: the latents do not divide the heads.
        """
        name = Part(type(self)).name
        if self.heads % self.latents:
            raise UserError(f'{name}: {self.latents} latents do not divide {self.heads} heads: choose a divisor')
        shape = (source.hidden.shape[-1], self.latents, self.rank)
        down = parameter(self, 'latent', 'D -> K R', flat(self.kernel_init, 1), shape)
        return each_head(self.norm(name='latent_norm'), project(source.hidden, down), source.real)

    def expand(self, latent: Float[Array, 'B S K R'], up: Float[Array, 'R N H']) -> Float[Array, 'B S N H']:
        """Compute keys or values of every head from the latent of its group."""
        up = rearrange(up, 'R (K G) H -> R K G H', K=self.latents)
        return rearrange(jnp.einsum('BSKR,RKGH->BSKGH', latent, up), 'B S K G H -> B S (K G) H')

    def cached(self, latent: Float[Array, 'B T K R'], rotated: Float[Array, 'B T 1 _']) -> tuple[CachedKeys, Values]:
        """Return the cached arrays: the rotated key as keys, and the latents as values."""
        return rotated, latent


def latents_and_rotated(rotated: Float[Array, 'B S 1 _'], latent: Float[Array, 'B S K R']) -> tuple[Keys, Values]:
    """Expand a cache: values are the latents, and keys are the latents with the rotated key appended to each."""
    return append_rotated(latent, rotated), latent
