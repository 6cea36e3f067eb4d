# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Score terms as values: what is done to a block of scores between q.k and the softmax.

A term is a pytree whose float leaves may be trained; it sees the scores of one block together with the queries,
keys and pairs of indices that made them, and is differentiated by `jax.vjp` block by block, so the memory-efficient
path serves every term and nothing T x S is kept. Key blocks come from the last to the first; a term that needs to know
of the keys to the right of a block gets it through `carry`.
"""

from collections.abc import Callable

import jax.numpy as jnp
from flax import struct
from jaxtyping import Array, Float, PyTree

from saccade.types import Keys, Pairs, Queries, Scores


class TermBase:
    """A term without a carry; those with one override both methods."""

    def init_carry(self, q: Queries) -> PyTree:
        return ()

    def __call__(self, scores: Scores, q: Queries, k: Keys, pairs: Pairs, carry: PyTree) -> tuple[Scores, PyTree]:
        return self.change(scores, pairs), carry

    def change(self, scores: Scores, pairs: Pairs) -> Scores:
        raise NotImplementedError


@struct.dataclass
class Softcap(TermBase):
    """Keep scores within (-cap, cap): cap tanh(s / cap) (Gemma 2, Riviere et al. 2024, section 2).

    Attributes:
        cap: bound of the scores, in nats.
    """

    cap: float = struct.field(pytree_node=False)

    def change(self, scores: Scores, pairs: Pairs) -> Scores:
        return self.cap * jnp.tanh(scores / self.cap)


@struct.dataclass
class DistanceTable(TermBase):
    """Add a value looked up by the bucket of the distance key - query.

    Attributes:
        table: one value a bucket and head.
        bucket: function of an integer distance array to integer buckets in [0, R).
    """

    table: Float[Array, 'R N']
    bucket: Callable[[Array], Array] = struct.field(pytree_node=False)

    def change(self, scores: Scores, pairs: Pairs) -> Scores:
        # Widened before the lookup, whose gradient sums over all pairs of a bucket.
        table = self.table.astype(scores.dtype)
        return scores + jnp.moveaxis(table[self.bucket(pairs.distance)], -1, -3)
