# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Attention by the whole score matrix: the reference that every other path must equal.

    A = softmax(scale Q K^T + terms, masked);  Y = A V        (Vaswani et al. 2017, equation 1)

Queries may be taken in chunks, each of which meets only the keys that the mask leaves it; the numbers are the
same. For a causal mask and C chunks this saves (C - 1) / 2C of the work.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from saccade.ops.scoring import Scoring, weighted_values
from saccade.ops.softmax import masked_softmax
from saccade.types import Index, Keys, Queries


def attention_weights(
    q: Queries, k: Keys, scoring: Scoring, q_index: Index, k_index: Index
) -> Float[Array, 'B N T S']:
    """Weights of each query over the keys: each row sums to one, or is zero where nothing may be attended to."""
    scores, _ = scoring.scores(q, k, q_index, k_index, scoring.init_carry(q))
    return masked_softmax(scores, scoring.allowed(q_index, k_index))


def attend(
    q: Queries, k: Keys, v: Keys, scoring: Scoring, q_index: Index, k_index: Index
) -> tuple[Queries, Float[Array, 'B N T S']]:
    """Return what each query reads, in the dtype of v, and the weights before dropout."""
    weights = attention_weights(q, k, scoring, q_index, k_index)
    mixed = weights
    if scoring.dropout is not None:
        mixed = weights * scoring.kept((q.shape[0], q.shape[-2]), q_index, k_index)
    return weighted_values(mixed, v).astype(v.dtype), weights


def attend_in_chunks(q: Queries, k: Keys, v: Keys, scoring: Scoring, chunks: int) -> Queries:
    """`attend` over T/chunks queries at a time, each with the span of keys that may be live for it.

    A term with a carry sees every key, since it may need those that the mask hides.
    """
    T, S = q.shape[1], k.shape[1]
    size = -(-T // chunks)
    carried = bool(jax.tree.leaves(scoring.init_carry(q)))
    outputs = []
    for start in range(0, T, size):
        rows = range(start, min(start + size, T))
        span = range(S) if carried else live_span(scoring, rows, S, size)
        block = slice(rows.start, rows.stop), slice(span.start, span.stop)
        out, _ = attend(
            q[:, block[0]], k[:, block[1]], v[:, block[1]], scoring,
            jnp.arange(rows.start, rows.stop), jnp.arange(span.start, span.stop),
        )  # fmt: skip
        outputs.append(out)
    return jnp.concatenate(outputs, axis=1)


def live_span(scoring: Scoring, rows: range, keys: int, size: int) -> range:
    """The smallest span of whole blocks of keys outside of which nothing is live for these queries."""
    blocks = [range(start, min(start + size, keys)) for start in range(0, keys, size)]
    live = [block for block in blocks if scoring.mask.live(rows, block)]
    return range(live[0].start, live[-1].stop) if live else range(min(size, keys))
