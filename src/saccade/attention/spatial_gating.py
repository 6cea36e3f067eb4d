# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Spatial gating of gMLP: half of an MLP's hidden features, mixed over the tokens, multiply the other half.

    [Z1 Z2] = act(X U + b),   Y = (Z1 * (W norm(Z2) + c)) V + d        W [S_max S_max], c [S_max], * by elements

Liu et al. 2021, "Pay Attention to MLPs", section 2, https://arxiv.org/abs/2105.08050
W starts near 0 and c at 1, so that it starts as an MLP. In a pre-norm block without a feed-forward layer it is the
paper's layer, without its "tiny attention". W is of positions, so rows have at most `length` tokens; a shorter row uses
the first rows and columns of W. It cannot be causal, decode, or separate padding and packed documents.
Cost: B T D F + B T^2 F in time, B T F in memory, S_max^2 parameters.
"""

import dataclasses
from typing import Any, ClassVar

import flax.linen as nn
import jax.numpy as jnp

from saccade.attention.whole_rows_base import WholeRows
from saccade.axes import parameter
from saccade.norm.layer import LayerNorm
from saccade.ops.project import project
from saccade.types import Activation, Capabilities, Count, Hidden, Norm, Part, Positive

__all__ = ['SpatialGating']


class SpatialGating(WholeRows):
    """Spatial gating of gMLP.

    Attributes:
        length: S_max in tokens.
        ratio: F/D, with F features after the first map; the gate leaves half of them. The paper's is 6.
        activation: function of the F features.
        norm: norm of Z2.
        gate_init: initialiser of W.
        kernel_init: initialiser of U.
        output_init: initialiser of V.
    """

    length: Count
    ratio: Positive = 6.0
    activation: Part[Activation] = Part(nn.gelu)
    norm: Part[Norm] = Part(LayerNorm)
    gate_init: Part = Part(nn.initializers.normal, (('stddev', 1e-6),))
    kernel_init: Part = Part(nn.initializers.lecun_normal)
    output_init: Part = Part(nn.initializers.lecun_normal)

    capabilities: ClassVar[Capabilities] = dataclasses.replace(
        WholeRows.capabilities, time='B T F (D + T)', memory='B T F'
    )
    example: ClassVar[dict[str, Any]] = {'norm': {'use': 'norm.layer:LayerNorm'}}

    @nn.compact
    def mix_rows(self, x: Hidden, train: bool) -> Hidden:
        """Apply the gated MLP."""
        T, D = x.shape[1:]
        half, zeros, ones = round(self.ratio * D / 2), nn.initializers.zeros, nn.initializers.ones
        self.require_length(T, self.length)
        z = project(x, parameter(self, 'up', 'D -> F', self.kernel_init(), (D, 2 * half)))
        z = self.activation(z + parameter(self, 'up_bias', 'F', zeros, (2 * half,)))
        mixed = self.norm(name='norm')(z[..., half:])
        weights = parameter(self, 'gate', 'S -> T', self.gate_init(), (self.length, self.length))
        gate = jnp.einsum('BSF,ST->BTF', mixed, weights[:T, :T])
        gate = gate + parameter(self, 'gate_bias', 'T', ones, (self.length,))[:T, None]
        y = project(
            self.tap('hidden', 'B T F', z[..., :half] * gate),
            parameter(self, 'output', 'F -> D', self.output_init(), (half, D)),
        )
        return y + parameter(self, 'output_bias', 'D', zeros, (D,))
