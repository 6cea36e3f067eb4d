# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The gated delta rule with gates of its own for erasing and writing, as flash-linear-attention computes it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.ops.delta import erase_and_write
from saccade.ops.linear_attention import Memory

T, N, H, V = 5, 2, 3, 2
# Output of naive_recurrent_gdn2, flash-linear-attention at bc3b101d, with scale 1, of `drawn`.
RECORDED = [
    [[0.016686, 0.045428], [-0.556063, -0.845901]],
    [[-0.165773, 0.149133], [0.183639, 0.36113]],
    [[-0.402872, -0.760821], [-0.297457, 0.182858]],
    [[-0.186473, -0.315222], [0.074204, -0.685205]],
    [[-0.598527, -0.084555], [0.229511, 0.277208]],
]


def waves(*shape, start=0.0):
    return jnp.array(np.sin(start + np.arange(np.prod(shape))).reshape(shape), jnp.float32)


def drawn():
    q, k, v = waves(1, T, N, H), waves(1, T, N, H, start=1), waves(1, T, N, V, start=2)
    log_decay = -1.5 - 1.4 * waves(1, T, N, H, start=3)
    return q, k, v, 0.5 + 0.5 * waves(1, T, N, H, start=4), 0.5 + 0.5 * waves(1, T, N, V, start=5), log_decay


@pytest.mark.oracle_of('attention.gated_delta2:GatedDelta2', by='flash-linear-attention')
@pytest.mark.parametrize('chunk', [1, 2, 8])
def test_outputs_are_those_that_flash_linear_attention_computed(chunk):
    start, segments = Memory.empty(1, N, H, V), jnp.ones((1, T), int)
    y, _ = jax.jit(erase_and_write, static_argnums=8)(*drawn(), segments, start, chunk)
    np.testing.assert_allclose(y[0], RECORDED, atol=2e-6)
