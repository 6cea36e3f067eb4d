# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Mixture of softmaxes: the next token's distribution is a mixture of K softmaxes of the same output projection.

    p = sum over k of pi_k softmax(E h_k),   h_k = f(W_k x + b_k),   pi = softmax(U x)        K vectors h_k of width D

Yang et al. 2018, "Breaking the Softmax Bottleneck: A High-Rank RNN Language Model", section 2.3,
https://arxiv.org/abs/1711.03953. The log-probabilities of one softmax have a rank of at most D + 1 over all contexts,
which a mixture exceeds. It is the `output` of a decoder, whose logits are then log-probabilities. Cost: K times the
output projection, T D K D for the vectors; B T K V numbers, fewer with `vocabulary_chunk`.
"""

import flax.linen as nn
import jax
import jax.numpy as jnp
from einops import rearrange
from flax import struct

from saccade.axes import flat, parameter
from saccade.module import Module
from saccade.ops.project import project
from saccade.ops.vocabulary import OutputProjection
from saccade.types import Count, Logits, Part

__all__ = ['MixtureOfSoftmaxes']


@struct.dataclass
class Mixture(OutputProjection):
    """Output projection whose `hidden` [B T K (D + 1)] has the K vectors and the logit of each one's share.

    Attributes: count, number of softmaxes (K).
    """

    count: int = struct.field(pytree_node=False, kw_only=True)

    def logits(self) -> Logits:
        """Return the log-probabilities of all tokens."""
        vectors, shares = self.hidden[..., : -self.count], self.hidden[..., -self.count :]
        rows = rearrange(vectors, 'B T (K D) -> B (T K) D', K=self.count)
        each = OutputProjection(rows, self.kernel, self.tied, self.bias, self.cap).logits()
        logs = jax.nn.log_softmax(rearrange(each, 'B (T K) V -> B T K V', K=self.count).astype(jnp.float32))
        shares = jax.nn.log_softmax(shares.astype(jnp.float32))
        return jax.nn.logsumexp(logs + shares[..., None], axis=-2).astype(each.dtype)


class MixtureOfSoftmaxes(Module):
    """Mixture of softmaxes.

    Attributes: count, number of softmaxes (K); activation, f; kernel_init, the initialiser of W and U.
    """

    count: Count
    activation: Part = Part(jnp.tanh)
    kernel_init: Part = Part(nn.initializers.lecun_normal)

    @nn.compact
    def __call__(self, given: OutputProjection) -> Mixture:
        D, K = given.hidden.shape[-1], self.count
        kernel = parameter(self, 'vectors', 'D -> X D', flat(self.kernel_init, 1), (D, K, D))
        bias = parameter(self, 'vectors_bias', 'X D', nn.initializers.zeros, (K, D))
        vectors = self.activation(project(given.hidden, kernel) + bias)
        shares = project(given.hidden, parameter(self, 'shares', 'D -> X', self.kernel_init(), (D, K)))
        hidden = jnp.concatenate([rearrange(vectors, 'B T K D -> B T (K D)'), shares], axis=-1)
        return Mixture(hidden, given.kernel, given.tied, given.bias, given.cap, count=K)
