# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Manifold-constrained hyper-connections (mHC): residual streams mixed by doubly stochastic matrices.

    z = sum_r a_r h_r;  h'_m = sum_r M_mr h_r + b_m branch(norm(z));  a = sigmoid(.), b = 2 sigmoid(.), M = sinkhorn(.)

Xie et al. 2025, "mHC: Manifold-Constrained Hyper-Connections", section 4, https://arxiv.org/abs/2512.24880
With `dynamic` each (.) is bias + s norm(h) W, h all streams concatenated, otherwise only the bias; s is initialised to
0.01. M is nonnegative and its rows and columns sum to one, so the streams do not grow with depth. At s = 0 the streams
stay equal and each is pre-norm: initially a is 1/R, b is 1 and M almost the identity. Sinkhorn's iteration ends with
the rows, whose sums are exact. Added cost over pre-norm: T D R (R + 2), twice that if dynamic.
"""

import math
from typing import ClassVar

import flax.linen as nn
import jax
import jax.numpy as jnp
from jax.nn.initializers import Initializer
from jaxtyping import Array, Float

from saccade.axes import parameter
from saccade.block.base import together
from saccade.block.hyper_connections import HyperConnections
from saccade.types import Count, Hidden, Norm, Part, Real, UserError

__all__ = ['ManifoldHyperConnections']

_OFF_DIAGONAL = -8.0  # initial logit of the mixing weights between different streams


class ManifoldHyperConnections(HyperConnections):
    """Manifold-constrained hyper-connections block.

    Also called: mHC, manifold.

    Attributes: the attributes of HyperConnections; iterations of Sinkhorn's normalisation.
    """

    identity: ClassVar[bool] = False

    iterations: Count = 20

    def connection(self, branch: str) -> nn.Module:
        """Return the module that computes a branch's input, the mixed streams, and the weights b.

        Raises:
            UserError: there are fewer than 2 streams.
        """
        name = 'block.manifold_hyper_connections:ManifoldHyperConnections'
        if self.streams < 2:
            raise UserError(f'{name}: streams must be at least 2, not {self.streams}: one has nothing to mix')
        return _Connection(self.norm if self.dynamic else None, self.iterations, name=f'{branch}_connection')


class _Connection(nn.Module):
    """Computes the input of a branch, the mixed streams, and the weights b of the branch's output.

    Attributes: norm, before the dynamic weights, None for static weights; iterations of Sinkhorn's normalisation.
    """

    norm: Part[Norm] | None
    iterations: int

    @nn.compact
    def __call__(
        self, streams: Float[Array, 'B T R D'], real: Real | None
    ) -> tuple[Hidden, Float[Array, 'B T R D'], Float[Array, '*#BT R']]:
        R = streams.shape[-2]
        normed = None if self.norm is None else self.norm(name='norm')(together(streams), real)
        start = nn.initializers.constant(-math.log(R - 1))
        read = jax.nn.sigmoid(self._logits('read', normed, start, (R,)))
        add = 2.0 * jax.nn.sigmoid(self._logits('add', normed, nn.initializers.zeros, (R,)))
        keep = doubly_stochastic(self._logits('keep', normed, _diagonal, (R, R)), self.iterations)
        read, add, keep = (weights.astype(streams.dtype) for weights in (read, add, keep))
        z = jnp.einsum('...R,...RD->...D', read, streams)
        return z, jnp.einsum('...MR,...RD->...MD', keep, streams), add

    def _logits(
        self,
        name: str,
        normed: Float[Array, 'B T RD'] | None,
        start: Initializer,
        shape: tuple[int, ...],
    ) -> Float[Array, '...']:
        letters = ' '.join('X' * len(shape))
        bias = parameter(self, f'{name}_bias', letters, start, shape, dtype=jnp.float32)
        if normed is None:
            return bias
        lecun = nn.initializers.lecun_normal(in_axis=0, out_axis=tuple(range(1, len(shape) + 1)))
        kernel = parameter(self, name, f'D -> {letters}', lecun, (normed.shape[-1], *shape))
        small = parameter(self, f'{name}_scale', '', nn.initializers.constant(0.01), ())
        return bias + small * jnp.einsum('BTD,D...->BT...', normed, kernel).astype(jnp.float32)


def doubly_stochastic(logits: Float[Array, '*B R R'], iterations: int) -> Float[Array, '*B R R']:
    """Return exp(logits) with columns and rows scaled in turn until both sum to one (Sinkhorn, Knopp 1967)."""

    def scale(_: int, logits: Array) -> Array:
        logits = logits - jax.nn.logsumexp(logits, axis=-2, keepdims=True)
        return logits - jax.nn.logsumexp(logits, axis=-1, keepdims=True)

    return jnp.exp(jax.lax.fori_loop(0, iterations, scale, logits))  # in logarithms, to avoid 1 / 0


def _diagonal(key: Array, shape: tuple[int, int]) -> Float[Array, 'R R']:
    """Initialise the logits to almost the identity."""
    return _OFF_DIAGONAL * (1.0 - jnp.eye(*shape))
