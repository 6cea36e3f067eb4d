# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Projection bridge: a tanh layer from the fixed context vector to the decoder's initial state.

    s_0 = tanh(c W + b), with separate W and b per layer

Cho et al. 2014, "Learning Phrase Representations using RNN Encoder-Decoder", appendix A.2,
https://arxiv.org/abs/1406.1078. Bahdanau et al. 2015 use only the backward half of c. Cost: C D per layer.
"""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from saccade.axes import parameter
from saccade.module import Module
from saccade.ops.project import project
from saccade.recurrent.encoder import Encoded

__all__ = ['Projected']


class Projected(Module):
    """Bridge that maps the context vector to the decoder's initial states by one tanh layer."""

    @nn.compact
    def __call__(self, encoded: Encoded, start: PyTree) -> PyTree:
        """Return initial states, in the shapes of `start`, computed from the context vector."""
        leaves, tree = jax.tree.flatten(start)
        ends = np.cumsum([leaf.shape[-1] for leaf in leaves])
        shape = (encoded.context.shape[-1], int(ends[-1]))
        kernel = parameter(self, 'kernel', 'D -> X', nn.initializers.lecun_normal(), shape)
        bias = parameter(self, 'bias', 'X', nn.initializers.zeros, (int(ends[-1]),))
        made = jnp.tanh((project(encoded.context, kernel) + bias).astype(jnp.float32))
        return jax.tree.unflatten(tree, jnp.split(made, ends[:-1], axis=-1))
