# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Masked language modelling head: a hidden layer, and the embedding as the output layer.

    logits_m = norm(f(x_m W + b)) E^T + c        only at the M places to predict

Devlin et al. 2019, "BERT", section 3.1, https://arxiv.org/abs/1810.04805; the hidden layer is of https://github.com/google-research/bert,
run_pretraining.py, as is the thrift: 15% of the tokens reach the vocabulary. Cost: M (D E + E V).
"""

import flax.linen as nn
import jax.numpy as jnp
from jaxtyping import Array, Float

from saccade.axes import parameter
from saccade.head.base import hidden
from saccade.module import Module
from saccade.norm.layer import LayerNorm
from saccade.ops.vocabulary import OutputProjection
from saccade.types import Hidden, Norm, Part, Reading, UserError

__all__ = ['Masked']


class Masked(Module):
    """Masked language modelling head.

    Attributes: activation f, norm and kernel_init of the hidden layer, which has the width of the embedding;
    hidden_bias, whether it has the bias b.
    """

    activation: Part = Part(nn.gelu)
    norm: Part[Norm] = Part(LayerNorm)
    kernel_init: Part = Part(nn.initializers.normal, (('stddev', 0.02),))
    hidden_bias: bool = True

    def __call__(self, x: Hidden, reading: Reading, train: bool = False) -> Float[Array, 'B M V']:
        return self.output_projection(x, reading, train).logits()

    @nn.compact
    def output_projection(self, x: Hidden, reading: Reading, train: bool) -> OutputProjection:
        """Return the hidden layer's output and its projection to the vocabulary, instead of the logits."""
        if reading.table is None:
            raise UserError('head.masked:Masked predicts tokens: set config.model.vocabulary')
        V, E = reading.table.shape
        asked: Array = x if reading.at is None else jnp.take_along_axis(x, reading.at[..., None], axis=-2)
        h = self.norm(name='norm')(self.activation(hidden(self, asked, E, self.kernel_init, self.hidden_bias)))
        bias = parameter(self, 'bias', 'V', nn.initializers.zeros, (V,))
        return OutputProjection(h, reading.table, tied=True, bias=bias)
