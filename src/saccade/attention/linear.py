# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Linear attention: weights are products of positive features, so keys and values are summed once for all queries.

    y_i = phi(q_i)^T sum_j phi(k_j) v_j^T / phi(q_i)^T sum_j phi(k_j)      over j <= i, or over all j

Katharopoulos et al. 2020, "Transformers are RNNs: Fast Autoregressive Transformers with Linear Attention",
equations 5, 7 and 9 to 12, https://arxiv.org/abs/2006.16236
Ours sums chunk by chunk, exactly. The scale of the scores cancels. It supports `ops.mask:Causal` and `ops.mask:Full`,
packed and padded, but nothing that needs scores: no bias, softcap, window or attention dropout. Cost for R features:
B T N R H in time, B T N H in memory; the decoding state is B K R H for any capacity.
"""

from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Int

from saccade.attention.memory_base import FeatureKernel
from saccade.ops.linear_attention import elu_plus_one, within_one
from saccade.types import Capabilities, Part, Queries

__all__ = ['Linear']


class Linear(FeatureKernel):
    """Linear attention kernel.

    Attributes: feature, a feature map to positive numbers, such as `jax.nn:relu`; chunk, in tokens.
    """

    feature: Part = Part(elu_plus_one)

    capabilities: ClassVar[Capabilities] = Capabilities(
        terms=False, sums=True, time='B T N R H', memory='B T N H', state='K R H'
    )
    example: ClassVar[dict] = {'chunk': 4}

    def features(self, x: Queries, scale: float, positions: Int[Array, 'B T']) -> tuple[Array, Array]:
        """Apply the feature map, scaled to a maximum of 1 per vector; return the features and the log of the scale."""
        return within_one(self.feature(x.astype(jnp.float32)))
