# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Scaled dot-product attention through the whole score matrix: the reference path, and fast at short lengths.

    A = softmax(scale Q K^T + terms, masked);  Y = A V

Vaswani et al. 2017, "Attention Is All You Need", equation 1, https://arxiv.org/abs/1706.03762
Any softmax variant serves. With `query_chunks` the queries are split into that number of chunks; a chunk attends only
to the span of keys that its mask allows, with equal results; with C chunks and a causal mask this saves (C - 1) / 2C of
the work. Cost: B N T S in time and in memory.
"""

from typing import ClassVar

import jax.numpy as jnp
from einops import repeat
from jaxtyping import Array, Bool, Float

from saccade.attention.base import ScoreKernel
from saccade.ops.blocks import ChosenBlocks
from saccade.ops.blockwise import ranges
from saccade.ops.gathered import ChosenTokens
from saccade.ops.scoring import Scoring
from saccade.types import Capabilities, Count, Keys, Mixed, Pairs, Queries, Values

__all__ = ['Plain']


class Plain(ScoreKernel):
    """Attention kernel through the whole score matrix.

    Also called: SDPA, dot product, eager, softmax attention, vanilla.

    Attributes: the attributes of every score kernel; query_chunks, 1 for the whole matrix at once.
    """

    query_chunks: Count = 1

    capabilities: ClassVar[Capabilities] = Capabilities(time='B N T S', memory='B N T S', state='S K H')

    def attend_tapped(self, q: Queries, k: Keys, v: Values, scoring: Scoring) -> Mixed:
        """Return the attention output under a complete scoring; of all queries at once where it has a tap."""
        if (self.query_chunks > 1 or q.shape[1] != k.shape[1]) and scoring.tap is None:
            return self.attend(q, k, v, scoring)
        return scoring.attend(q, k, v)[0]

    def attend(self, q: Queries, k: Keys, v: Values, scoring: Scoring) -> Mixed:
        """Attend by chunks of queries, each to the span of keys that its mask allows."""
        T, S = q.shape[1], k.shape[1]
        size, parts = -(-T // self.query_chunks), []
        for rows in ranges(T, size):
            live = [keys for keys in ranges(S, size) if scoring.mask.live(rows, keys)]
            span = range(live[0].start, live[-1].stop) if live else range(min(size, S))
            pairs, keys = scoring.pairs(jnp.array(rows), jnp.array(span)), slice(span.start, span.stop)
            parts.append(scoring.attend(q[:, rows.start : rows.stop], k[:, keys], v[:, keys], pairs)[0])
        return jnp.concatenate(parts, axis=1)

    def attend_to_pairs(
        self, q: Queries, k: Keys, v: Values, scoring: Scoring, pairs: Pairs
    ) -> tuple[Mixed, Float[Array, 'B N T S']]:
        """Return the output of these pairs, and the weights before dropout, at once whatever `query_chunks` is."""
        return scoring.attend(q, k, v, pairs)

    def block_sizes(self, T: int, S: int) -> tuple[int, int]:
        """Return T and S: a selection is computed at once."""
        return T, S

    def attend_to_blocks(self, q: Queries, k: Keys, v: Values, scoring: Scoring, chosen: ChosenBlocks) -> Mixed:
        """Attend to all keys, with those outside the chosen blocks masked."""
        places = jnp.arange(q.shape[1]), jnp.arange(k.shape[1])
        pairs = Pairs(*places, each_head(chosen.allowed(), q.shape[2]), scoring.scale)
        return scoring.attend(q, k, v, pairs)[0]

    def attend_to_tokens(
        self, q: Queries, k: Keys, v: Values, scoring: Scoring, chosen: ChosenTokens
    ) -> tuple[Mixed, Float[Array, 'B T C']]:
        """Attend to all keys, with the other ones masked; return the output and the weights of the chosen keys."""
        allowed = each_head(chosen.allowed(), q.shape[2])
        pairs = Pairs(chosen.q_index, chosen.k_index, allowed, scoring.scale, scoring.features)
        out, weights = scoring.attend(q, k, v, pairs)
        summed = jnp.sum(jnp.abs(weights), axis=1)
        at = chosen.at[:, 0]
        of_chosen = jnp.take_along_axis(summed, jnp.minimum(at, k.shape[1] - 1), axis=-1)
        return out, jnp.where(at < k.shape[1], of_chosen, 0.0)


def each_head(allowed: Bool[Array, 'B J T S'], heads: int) -> Bool[Array, 'B _ T S']:
    """Repeat the mask of each group of heads for its heads; one mask for all stays one."""
    J = allowed.shape[1]
    return repeat(allowed, 'B J T S -> B (J G) T S', G=1 if J == 1 else heads // J)
