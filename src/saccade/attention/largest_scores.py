# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Kernel that records the largest score of each head in training, for QK-clip (`train.qk_clip`).

    largest_n  =  max over the allowed pairs i, j of a batch  of  scale q_in . k_jn,    at least 0

Kimi Team 2025, "Kimi K2: Open Agentic Intelligence", section 2.1, https://arxiv.org/abs/2507.20534
The record is a statistic (`ops.statistic`), replaced in each step. It has the products only, after rotations by
position and without score terms. Under `accumulate` and `pmap` it is the mean over microbatches and devices of the
largest scores of each. Cost: the inner kernel's, and in training the products of queries and keys again, B N T S in
time and B N T in memory.
"""

from typing import ClassVar

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from saccade.attention.base import ScoreKernel, require_own
from saccade.attention.blockwise import Blockwise
from saccade.axes import parameter
from saccade.ops.scoring import Scoring, grouped_products
from saccade.ops.selection import by_blocks_of_queries
from saccade.ops.statistic import move
from saccade.softmax.softmax import Softmax
from saccade.types import (
    Capabilities,
    Count,
    Keys,
    Metric,
    Mixed,
    OnlineSoftmaxVariant,
    Part,
    Queries,
    QueryIndex,
    ScoringKernel,
    Total,
    Values,
)

__all__ = ['LargestScores']

RECORD = 'running_largest_score'  # name of the statistic


class LargestScores(ScoreKernel):
    """Kernel that records the largest score of each head, and attends by another kernel.

    Attributes:
        inner: the kernel that attends; its softmax and dropout are set here.
        query_block: queries whose products are computed at once.
    """

    softmax: Part[OnlineSoftmaxVariant] = Part(Softmax)
    inner: Part[ScoringKernel] = Part(Blockwise)
    query_block: Count = 256

    capabilities: ClassVar[Capabilities] = Capabilities(time='B N T S', memory='B N T H', state='S K H')
    mixes_rows: ClassVar[str] = 'the largest scores of its heads'
    reports: ClassVar[tuple[Metric, ...]] = (Metric('largest_score', None, 0.0, among='batch'),)

    @nn.compact
    def __call__(self, q: Queries, k: Keys, v: Values, scoring: Scoring, train: bool = False) -> Mixed:
        record = parameter(self, RECORD, 'N', nn.initializers.zeros, q.shape[-2:-1], dtype=jnp.float32)
        if train or self.is_mutable_collection('metrics'):
            largest = largest_scores(q, k, scoring, self.query_block)
            tokens = jnp.float32(q.shape[0] * q.shape[1])
            self.sow('metrics', 'largest_score', Total(largest.max() * tokens, tokens))
            if train:
                self.sow('losses', 'record', Total(move(record, largest) * tokens, tokens))
        return super().__call__(q, k, v, scoring, train)

    def require_served(self, q: Queries, k: Keys, v: Values, scoring: Scoring) -> None:
        """Check that the inner kernel supports the arguments, and leaves softmax and dropout to this one."""
        require_own('attention.largest_scores:LargestScores', self.inner)
        self.inner(parent=None).require_served(q, k, v, scoring)

    def attend(self, q: Queries, k: Keys, v: Values, scoring: Scoring) -> Mixed:
        """Attend by the inner kernel."""
        return self.inner(parent=None).attend(q, k, v, scoring)


def largest_scores(q: Queries, k: Keys, scoring: Scoring, query_block: int) -> Float[Array, 'N']:
    """Return the largest scaled product of an allowed pair, over all rows, of each head; at least 0."""
    q, k, scoring = jax.lax.stop_gradient((q, k, scoring))
    places = jnp.arange(k.shape[1])

    def block(q: Queries, index: QueryIndex) -> Float[Array, 'B T N']:
        allowed = scoring.pairs(index[0], places).allowed
        largest = jnp.max(scoring.scale * grouped_products(q, k), axis=-1, where=allowed, initial=0.0)
        return jnp.swapaxes(largest, 1, 2)

    index = jnp.broadcast_to(jnp.arange(q.shape[1]), q.shape[:2])
    return by_blocks_of_queries(block, query_block, q, index).max(axis=(0, 1))
