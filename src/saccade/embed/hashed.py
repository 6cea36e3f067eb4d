# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Hashed embedding: each id is hashed K times, into small tables whose rows are concatenated.

    x_t = [E_1[h_1(id)]; ...; E_K[h_K(id)]],      h_k(id) = (id + 1) p_k mod B,      E_k in R^(B x E/K)

Clark et al. 2022, "CANINE", section 3.1, https://arxiv.org/abs/2103.06874: any of the 1.1 million code points of
Unicode has a vector of its own, as few pairs collide in all K tables, which have B E parameters together. p_k are the
primes of the published code. The tables are the embedding's own, so no output projection is tied to them.
"""

from typing import Any, ClassVar

import flax.linen as nn
import jax.numpy as jnp
from jaxtyping import Array, Float

from saccade.axes import parameter
from saccade.module import Module
from saccade.types import Count, LayerContext, Part, Table, Tokens, UserError

__all__ = ['HashedEmbedding']

PRIMES = (31, 43, 59, 61, 73, 97, 103, 113, 137, 149, 157, 173, 181, 193, 211, 223)


class HashedEmbedding(Module):
    """Hashed embedding.

    Attributes: hashes, their number (K), at most 16; buckets, their number (B); kernel_init,
    the initialiser of the tables [K, B, E/K].
    """

    hashes: Count = 8
    buckets: Count = 16384
    kernel_init: Part = Part(nn.initializers.normal, (('stddev', 0.02),))

    reads: ClassVar[str] = 'tokens'
    example: ClassVar[dict[str, Any]] = {'hashes': 2, 'buckets': 16}

    @nn.compact
    def __call__(
        self, inputs: Tokens, context: LayerContext, width: int, table: Table | None
    ) -> tuple[Float[Array, 'B T E'], LayerContext]:
        if self.hashes > len(PRIMES) or width % self.hashes:
            raise UserError(
                f'embed.hashed:HashedEmbedding: hashes={self.hashes} must divide the width {width}, and be at most '
                f'{len(PRIMES)}'
            )
        shape = (self.hashes, self.buckets, width // self.hashes)
        tables = parameter(self, 'tables', 'X V D', self.kernel_init(), shape, decays=True)
        hashed = (inputs[..., None] + 1) * jnp.array(PRIMES[: self.hashes]) % self.buckets
        # Gradients of rows that occur several times are summed in float32.
        found = tables.astype(jnp.float32)[jnp.arange(self.hashes), hashed].astype(tables.dtype)
        return found.reshape(*inputs.shape, width), context
