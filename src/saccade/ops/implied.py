# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The attention that a linear mixer implies: derivatives of its heads' outputs with respect to their values.

    A[n, i, j] = mean over the features u of  sum over the features w of  d y[i, n, u] / d v[j, n, w]

y are the outputs of the heads and v the values. A head of linear attention, of retention or of the delta rule is linear
in its values, and its features do not mix: y_i is a weighted sum of the v_j, with weights that may be negative and need
not sum to one. Ali et al. 2024, "The Hidden Attention of Mamba Models", https://arxiv.org/abs/2403.01590. The slope of
an activation of the values is a factor. For softmax attention the result is the attention weights. Cost: a backward
pass per query.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from einops import reduce
from jaxtyping import Array, Float

from saccade.types import Mixed, Values

NOTE = 'implied: the derivative of the outputs of the heads with respect to their values'
AT_ONCE = 16  # queries whose derivatives are computed at once


def implied_pattern(y: Mixed, pull: Callable[[Mixed], tuple[Values, ...]]) -> Float[Array, 'B N T S']:
    """Return the attention that outputs y of heads imply; `pull` is their vector-Jacobian product, of the values last.

    A token may have M values a head, [B S (M N) V], as under the delta product.
    """
    T, V = y.shape[1], y.shape[-1]

    def of_query(number: Array) -> Float[Array, 'B S N']:
        this = jax.nn.one_hot(number, T, dtype=y.dtype)[:, None, None] / V
        return reduce(pull(jnp.broadcast_to(this, y.shape))[-1], 'B S (M N) V -> B S N', 'sum', N=y.shape[-2])

    rows = jax.lax.map(of_query, jnp.arange(T), batch_size=AT_ONCE)  # [T B S N]
    return jnp.transpose(rows, (1, 3, 0, 2))
