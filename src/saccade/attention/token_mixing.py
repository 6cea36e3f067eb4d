# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Token mixing of MLP-Mixer: an MLP over the tokens of a row, the same for every feature.

    Y^T = act(X^T W1 + b1) W2 + b2                W1 [S_max M], W2 [M S_max], M hidden units

Tolstikhin et al. 2021, "MLP-Mixer: An all-MLP Architecture for Vision", equation 1, https://arxiv.org/abs/2105.01601
With a feed-forward layer of each token, in a pre-norm block, it is the paper's layer. W1 and W2 are of positions, so
rows have at most `length` tokens; a shorter row is mixed as one followed by zeros. It cannot be causal, decode, or
separate padding and packed documents. Cost: 2 B T M D in time, B M D in memory, 2 S_max M parameters.
"""

import dataclasses
from typing import Any, ClassVar

import flax.linen as nn
import jax.numpy as jnp

from saccade.attention.whole_rows_base import WholeRows
from saccade.axes import parameter
from saccade.types import Activation, Capabilities, Count, Hidden, Part

__all__ = ['TokenMixing']


class TokenMixing(WholeRows):
    """Token mixing of MLP-Mixer.

    Attributes: length (S_max) in tokens; hidden units (M); activation between the maps; kernel_init, the initialiser of
    W1; output_init, the initialiser of W2.
    """

    length: Count
    hidden: Count
    activation: Part[Activation] = Part(nn.gelu)
    kernel_init: Part = Part(nn.initializers.lecun_normal)
    output_init: Part = Part(nn.initializers.lecun_normal)

    capabilities: ClassVar[Capabilities] = dataclasses.replace(WholeRows.capabilities, time='B T M D', memory='B M D')
    example: ClassVar[dict[str, Any]] = {'hidden': 6}

    @nn.compact
    def mix_rows(self, x: Hidden, train: bool) -> Hidden:
        """Apply the MLP over the tokens."""
        T, zeros = x.shape[1], nn.initializers.zeros
        self.require_length(T, self.length)
        up = parameter(self, 'up', 'S -> X', self.kernel_init(), (self.length, self.hidden))
        h = jnp.einsum('BSD,SM->BMD', x, up[:T]) + parameter(self, 'up_bias', 'X', zeros, (self.hidden,))[:, None]
        h = self.tap('hidden', 'B M D', self.activation(h))
        output = parameter(self, 'output', 'X -> T', self.output_init(), (self.hidden, self.length))
        bias = parameter(self, 'output_bias', 'T', zeros, (self.length,))
        return jnp.einsum('BMD,MT->BTD', h, output[:, :T]) + bias[:T, None]
