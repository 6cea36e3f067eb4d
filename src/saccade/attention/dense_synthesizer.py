# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Dense Synthesizer: each token predicts its own attention scores, one per position, without keys of other tokens.

    s[n, i, j] = relu(x_i W_n) . e[g, p_j]        W [D N H], e [length K H], p_j the position of token j

Tay et al. 2021, "Synthesizer: Rethinking Self-Attention for Transformer Models", section 3.1,
https://arxiv.org/abs/2005.00743. The second matrix of the paper's two-layer network is a table of keys by position, so
masks, kernels, packed rows and the KV cache are as in multi-head attention. As in the authors' code the scores have
no bias, and `key_value_heads=1` shares the table. Cost: that of multi-head attention less one projection; length K H
parameters more.
"""

import jax
from jaxtyping import Array, Int

from saccade.attention.synthesizer_base import SynthesizerBase
from saccade.types import CachedKeys, Hidden, Queries

__all__ = ['DenseSynthesizer']


class DenseSynthesizer(SynthesizerBase):
    """Dense Synthesizer.

    Attributes: the attributes of MultiHead, with a default scale of 1 and without `head_norm`; length, the number of
    positions; table_init, the initialiser of e.
    """

    def queries(self, x: Hidden, positions: Int[Array, 'B T']) -> Queries:
        """Return the hidden layer relu(x W) of each token."""
        return jax.nn.relu(self.project_heads({'query': x}, x.shape[-1])['query'])

    def keys(self, x: Hidden, positions: Int[Array, 'B S']) -> CachedKeys:
        """Return the trained keys of these positions."""
        _, K, H = self.sizes(x.shape[-1])
        return self.by_position('position_key', 'T K H', (K, H), positions, x)
