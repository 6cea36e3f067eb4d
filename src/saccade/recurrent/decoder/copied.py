# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Copying bridge: the decoder's initial state is the encoder's last state, layer by layer.

    s_0 = h_S

Sutskever et al. 2014, "Sequence to Sequence Learning with Neural Networks", https://arxiv.org/abs/1409.3215: the whole
source passes through this one state. Encoder and decoder need the same cell and number of layers, in one direction.
Cost: none.
"""

import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from saccade.module import Module
from saccade.recurrent.encoder import Encoded
from saccade.types import UserError

__all__ = ['Copied']


class Copied(Module):
    """Bridge that copies the encoder's last states into the decoder, layer by layer."""

    def __call__(self, encoded: Encoded, start: PyTree) -> PyTree:
        """Return the encoder's last states, which must have the shapes of `start`.

        Raises:
            UserError: the shapes differ, or the encoder has two directions.
        """
        states = tuple(layer[0] for layer in encoded.states)
        one_way = all(len(layer) == 1 for layer in encoded.states)
        if not one_way or jax.tree.map(jnp.shape, states) != jax.tree.map(jnp.shape, start):
            raise UserError(
                'recurrent.decoder.copied:Copied needs an encoder of one direction whose cell and layers are the '
                "decoder's; recurrent.decoder.projected:Projected fits any to any"
            )
        return states
