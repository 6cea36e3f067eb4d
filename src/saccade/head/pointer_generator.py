# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Pointer-generator: the next token is generated from the vocabulary, or copied from the source by attention.

    p(w) = g softmax(E y)_w + (1 - g) sum over s with x_s = w of a_s,    g = sigmoid(y . v + b)

See, Liu, Manning 2017, "Get To The Point: Summarization with Pointer-Generator Networks", equations 8 and 9,
https://arxiv.org/abs/1704.04368. a is the decoder's attention, y its output for the step, which already combines state
and context; the paper's g also reads the input token. A copy needs no trained output vector of its token. Words outside
the vocabulary share [UNK], where the paper numbers those of each source: `launch/translate.py --replace_unknown` writes
the source word that was attended to. Coverage is not implemented. Cost: T S additions and D per token; whole logits.
"""

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from saccade.axes import parameter
from saccade.module import Module
from saccade.ops.project import project
from saccade.ops.vocabulary import OutputProjection
from saccade.types import Logits, Part, UserError

__all__ = ['PointerGenerator']

_LEAST = 1e-30  # probability in a logarithm


class PointerGenerator(Module):
    """Pointer-generator. Attributes: kernel_init, the initialiser of v."""

    kernel_init: Part = Part(nn.initializers.lecun_normal)

    @nn.compact
    def __call__(
        self, projection: OutputProjection, weights: Float[Array, 'B T S'] | None, source: Int[Array, 'B S']
    ) -> Logits:
        """Return the log-probabilities of all tokens.

        Args:
            weights: attention weights of each step over the source; 0 for padding.

        Raises:
            UserError: the decoder has no attention.
        """
        if weights is None:
            raise UserError('head.pointer_generator:PointerGenerator needs a decoder with attention')
        y = projection.hidden
        kernel = parameter(self, 'kernel', 'D -> X', self.kernel_init(), (y.shape[-1], 1))
        gate = project(y, kernel)[..., 0] + parameter(self, 'bias', '', nn.initializers.zeros, ())
        gate, logits = gate.astype(jnp.float32)[..., None], projection.logits()
        made = jax.nn.log_sigmoid(gate) + jax.nn.log_softmax(logits.astype(jnp.float32))
        copied = jax.nn.sigmoid(-gate) * over_vocabulary(weights.astype(jnp.float32), source, logits.shape[-1])
        return jnp.logaddexp(made, jnp.log(copied + _LEAST)).astype(logits.dtype)


def over_vocabulary(weights: Float[Array, 'B T S'], source: Int[Array, 'B S'], V: int) -> Float[Array, 'B T V']:
    """Return the sum of the weights of each token of the vocabulary among the source tokens."""

    def of_row(weights: Float[Array, 'T S'], source: Int[Array, 'S']) -> Float[Array, 'T V']:
        return jnp.zeros((weights.shape[0], V)).at[:, source].add(weights)

    return jax.vmap(of_row)(weights, source)
