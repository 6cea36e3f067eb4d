# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Reconstruction head: scores of each place, from one pooled vector of the row and the position.

    h_t = pool(x) + p_t;   h_t <- f(norm(h_t) W_l + b_l), l = 1..L;   scores_t = norm(h_t) V + c

Poli et al. 2024, "Mechanistic Design and Scaling of Hybrid Architectures", section 3.1, https://arxiv.org/abs/2403.17844:
MAD's compression, with the last token as pool, sinusoids p, L = 2 and GELU as f. A place reads only the pooled vector
of the row, so the scores measure its information. Cost: T (L D^2 + D C).
"""

from typing import ClassVar

import flax.linen as nn
import jax.numpy as jnp
from jaxtyping import Array, Float

from saccade.axes import parameter
from saccade.head.base import Classes
from saccade.norm.layer import LayerNorm
from saccade.ops.project import project
from saccade.position.none import NoPosition
from saccade.types import Count, Hidden, Norm, Part, Reading, TokenPosition

__all__ = ['Reconstructed']


class Reconstructed(Classes):
    """Reconstruction head.

    Attributes:
        pool: pooling of the row, such as `ops.pool:last`; see `head.pooled:Pooled`.
        position: position scheme p, added to the vector at each place.
        norm: norm before each layer and before the output.
        activation: f.
        layers: number of layers (L).
    """

    pool: Part
    position: Part[TokenPosition] = Part(NoPosition)
    norm: Part[Norm] = Part(LayerNorm)
    layers: Count = 2

    example: ClassVar[dict] = {
        'pool': {'use': 'ops.pool:last'},
        'position': {'use': 'position.sinusoid:Sinusoid'},
        'norm': {'use': 'norm.rms:RMSNorm'},
        'activation': {'use': 'jax.nn:gelu'},
    }

    @nn.compact
    def __call__(self, x: Hidden, reading: Reading, train: bool = False) -> Float[Array, 'B T C']:
        context, D = reading.context, x.shape[-1]
        h = jnp.broadcast_to(self.pool(x, context.real)[:, None], x.shape)
        h = self.position(name='position')(h, context.positions)
        for layer in range(self.layers):
            h = self.norm(name=f'norm_{layer}')(h, context.real)
            h = project(h, parameter(self, f'hidden_{layer}', 'D -> D', self.kernel_init(), (D, D)))
            h = self.activation(h + parameter(self, f'hidden_{layer}_bias', 'D', nn.initializers.zeros, (D,)))
        return self._output(self.norm(name='norm')(h, context.real), train)
