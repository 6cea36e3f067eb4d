# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Attention residuals: the sum that a query reads, as flash-linear-attention computes it."""

import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.types import LayerContext

T, D = 3, 4
# Output of naive_attnres, flash-linear-attention at bc3b101d, for 2 waves(D, 7) as query, x = waves(1, T, D) and
# 2 waves(D, 6) x as sources, and 1 + 0.5 waves(D, 8) as scale of its norm.
RECORDED = [
    [0.0, 0.94018, 1.241794, 0.131853],
    [0.327754, -1.235712, -0.530823, 0.550828],
    [0.961902, 0.414422, -0.5535, -0.996861],
]


def waves(*shape, start=0.0):
    return jnp.array(np.sin(start + np.arange(np.prod(shape))).reshape(shape), jnp.float32)


@pytest.mark.oracle_of('block.attention_residuals:AttentionResiduals', by='flash-linear-attention')
@pytest.mark.long
def test_a_query_reads_the_sum_that_flash_linear_attention_computed():
    """The mixer multiplies each feature by a number; the scale of their norm is part of our query."""
    block = build({
        'use': 'block.attention_residuals:AttentionResiduals',
        'mixer': {'use': 'recurrent.mixer.convolution:Convolution', 'size': 1, 'depthwise': True, 'bias': False},
        'feedforward': None,
        'norm': {'use': 'norm.none:NoNorm'},
        'before_head': True,
    })()  # fmt: skip
    query = 2 * waves(D, start=7) * (1 + 0.5 * waves(D, start=8))
    params = {'queries': jnp.stack([jnp.ones(D), query]), 'mixer': {'output': 2 * waves(1, D, start=6)}}
    context = LayerContext(jnp.arange(T)[None])
    found, _ = block.apply({'params': params}, waves(1, T, D), context, False, mutable=['handed'])
    np.testing.assert_allclose(found[0], RECORDED, atol=2e-6)
