# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Nystromformer: softmax attention through M landmarks, the means of consecutive queries and of consecutive keys.

    Y = F Z B V + conv(V),   F = softmax(scale Q K~^T),   A = softmax(scale Q~ K~^T),   B = softmax(scale Q~ K^T)
    Z_(i+1) = Z_i (13 I - A Z_i (15 I - A Z_i (7 I - A Z_i))) / 4,   Z_0 = A^T / |A|_1,   Z_6 ~ the pseudoinverse of A

Xiong et al. 2021, "Nystromformer: A Nystrom-Based Algorithm for Approximating Self-Attention", equations 11 to 14 and
algorithm 1, https://arxiv.org/abs/2102.03902
With at least as many landmarks as tokens, attention is exact. The authors divide Z_0 by the largest |A|_1 of a batch;
ours is of each head. Landmarks of T tokens are T / M or so tokens each, mixed by all queries, so it cannot be causal,
decode, or separate padding and packed documents. Cost: B N T M (H + M) in time, B N T M in memory.
"""

from typing import ClassVar

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from einops import rearrange
from jaxtyping import Array, Float

from saccade.attention.base import NoSteps
from saccade.axes import parameter
from saccade.module import Module
from saccade.ops.convolution import convolve
from saccade.ops.implied import NOTE, implied_pattern
from saccade.ops.reach import reach_of
from saccade.ops.scoring import Scoring, grouped_products, weighted_values
from saccade.types import Capabilities, Count, Keys, Mixed, Part, Queries, Rows, UserError, Values

__all__ = ['Nystromformer']


class Nystromformer(NoSteps, Module):
    """Nystromformer kernel.

    Attributes:
        landmarks: number of landmarks (M).
        iterations: steps of the pseudoinverse, which converges to third order.
        convolution: tokens of a depthwise convolution of the values, with factors per head, added to the output; an odd
            number, None for no convolution.
        kernel_init: initialiser of the convolution.
    """

    landmarks: Count
    iterations: Count = 6
    convolution: Count | None = None
    kernel_init: Part = Part(nn.initializers.lecun_normal)

    capabilities: ClassVar[Capabilities] = Capabilities(
        causal=False,
        cross=False,
        packed=False,
        terms=False,
        cached=False,
        equivariant=False,
        time='B N T M (H + M)',
        memory='B N T M',
    )
    rows: ClassVar[Rows] = Rows(least=-np.inf, most=np.inf)
    example: ClassVar[dict] = {'landmarks': 4}

    @nn.compact
    def __call__(self, q: Queries, k: Keys, v: Values, scoring: Scoring, train: bool = False) -> Mixed:
        reach_of(self, scoring, q, k)
        N = q.shape[-2]
        k, v = (jnp.repeat(x, N // x.shape[-2], axis=-2) for x in (k, v))
        taps = None
        if self.convolution is not None:
            if self.convolution % 2 == 0:
                raise UserError(f'{Part(type(self)).name}: convolution {self.convolution} must be an odd number')
            taps = parameter(self, 'taps', 'X N', self.kernel_init(), (self.convolution, N), decays=True)

        def attend(v: Values) -> Mixed:
            y = self._attend(q, k, v, scoring)
            return y if taps is None else y + _convolved(v, taps)

        self.show('pattern', 'B N T S', lambda: implied_pattern(*jax.vjp(attend, v)), NOTE)
        return attend(v)

    def _attend(self, q: Queries, k: Keys, v: Values, scoring: Scoring) -> Mixed:
        if q.shape[1] <= self.landmarks:
            return scoring.attend(q, k, v)[0]
        q_means, k_means = (_means(x, self.landmarks) for x in (q, k))
        queries, landmarks, keys = (
            jax.nn.softmax(scoring.scale * grouped_products(*pair), axis=-1)
            for pair in ((q, k_means), (q_means, k_means), (q_means, k))
        )
        mixed = jnp.einsum('BNLM,BMNH->BNLH', pseudoinverse(landmarks, self.iterations), weighted_values(keys, v))
        return jnp.einsum('BNTL,BNLH->BTNH', queries, mixed).astype(v.dtype)


def pseudoinverse(weights: Float[Array, '*B M M'], iterations: int) -> Float[Array, '*B M M']:
    """Approximate the pseudoinverse of matrices whose rows sum to one (Razavi et al. 2014, equation 11)."""
    inverse = jnp.swapaxes(weights, -1, -2) / weights.sum(axis=-2).max(axis=-1)[..., None, None]
    eye = jnp.eye(weights.shape[-1])
    for _ in range(iterations):
        product = weights @ inverse
        inverse = inverse @ (13 * eye - product @ (15 * eye - product @ (7 * eye - product))) / 4
    return inverse


def _means(x: Float[Array, 'B T N H'], count: int) -> Float[Array, 'B M N H']:
    """Return the means [B M N H] of M groups of consecutive tokens, of equal sizes up to one token."""
    own = np.arange(x.shape[1]) * count // x.shape[1] == np.arange(count)[:, None]
    share = own / own.sum(axis=1, keepdims=True)
    return jnp.einsum('MT,BTNH->BMNH', share.astype(np.float32), x.astype(jnp.float32))


def _convolved(v: Values, taps: Float[Array, 'X N']) -> Mixed:
    """Convolve the values over their neighbours on both sides, with the same factors for all features of a head."""
    size, H = taps.shape[0], v.shape[-1]
    padded = jnp.pad(rearrange(v, 'B T N H -> B T (N H)'), ((0, 0), (size // 2, size // 2), (0, 0)))
    y = convolve(padded, jnp.ones(padded.shape[:2], int), jnp.repeat(taps, H, axis=1), size // 2)
    return rearrange(y, 'B T (N H) -> B T N H', H=H)
