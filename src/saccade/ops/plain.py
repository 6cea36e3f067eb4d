# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Attention by the whole score matrix: the reference that every other path must equal.

    A = softmax(scale Q K^T + terms, masked);  Y = A V        (Vaswani et al. 2017, equation 1)

The scoring has the softmax variant. Queries may be processed in chunks that attend only to keys within the mask, with
equal results. For a causal mask and C chunks this saves (C - 1) / 2C of the work.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from saccade.ops.scoring import Scoring
from saccade.types import KeyIndex, Keys, Mixed, Queries, QueryIndex, Values


def attend(
    q: Queries, k: Keys, v: Values, scoring: Scoring, q_index: QueryIndex, k_index: KeyIndex
) -> tuple[Mixed, Float[Array, 'B N T S']]:
    """Return the attention output, in the dtype of v, and the weights before dropout."""
    return scoring.attend(q, k, v, scoring.pairs(q_index, k_index))


def attend_in_chunks(q: Queries, k: Keys, v: Values, scoring: Scoring, chunks: int) -> Mixed:
    """Attend with T/chunks queries at a time to their live span of keys."""
    T, S = q.shape[1], k.shape[1]
    size = -(-T // chunks)

    def chunk(rows: range) -> Mixed:
        span = live_span(scoring, rows, S, size)
        block, keys = slice(rows.start, rows.stop), slice(span.start, span.stop)
        return attend(q[:, block], k[:, keys], v[:, keys], scoring, jnp.array(rows), jnp.array(span))[0]

    return jnp.concatenate([chunk(range(start, min(start + size, T))) for start in range(0, T, size)], axis=1)


def live_span(scoring: Scoring, rows: range, keys: int, size: int) -> range:
    """Return the smallest span of whole blocks of keys that contains all live keys of these queries."""
    blocks = [range(start, min(start + size, keys)) for start in range(0, keys, size)]
    live = [block for block in blocks if scoring.mask.live(rows, block)]
    return range(live[0].start, live[-1].stop) if live else range(min(size, keys))
