# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Relative position bias: one trained value per head and distance bucket, added to the scores.

    s[n, i, j] <- s[n, i, j] + b[bucket(j - i), n]

Raffel et al. 2020, "Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer" (T5),
section 2.1, https://arxiv.org/abs/1910.10683
Short distances have a bucket each, long distances share logarithmic buckets up to `furthest`. There is one table per
layer; as `shared` of a model, one for all layers, as in T5. Cost: buckets N parameters, T S additions.
"""

from dataclasses import dataclass

import flax.linen as nn
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from saccade.axes import parameter
from saccade.ops.term import DistanceTable
from saccade.position.base import OnScores
from saccade.types import Count, Part, ScoreTerm, UserError

__all__ = ['RelativeBias']


class RelativeBias(OnScores):
    """Relative position bias of T5.

    Attributes: buckets, the size of the table; furthest, distance of the last bucket, in tokens; both_sides, for
    attention to later keys; table_init, the initialiser of the table.
    """

    buckets: Count = 32
    furthest: Count = 128
    both_sides: bool = False
    table_init: Part = Part(nn.initializers.normal, (('stddev', 0.02),))

    @nn.compact
    def terms(self, heads: int) -> tuple[ScoreTerm, ...]:
        """Return the term that adds a trained bias per head and distance bucket.

        Raises:
            UserError: `buckets` is too small, or too large for `furthest`.
        """
        least = 4 if self.both_sides else 2
        if not least <= self.buckets < least * self.furthest:
            raise UserError(
                f'position.relative_bias:RelativeBias: buckets must be at least {least} and below {least} times the '
                f'furthest distance {self.furthest}, not {self.buckets}'
            )
        table = parameter(self, 'table', 'X N', self.table_init(), (self.buckets, heads))
        return (DistanceTable(table, Buckets(self.buckets, self.furthest, self.both_sides)),)


@dataclass(frozen=True)
class Buckets:
    """Buckets of distances: half of a side's buckets hold one distance each, the others are logarithmic."""

    count: int
    furthest: int
    both_sides: bool

    def __call__(self, distance: Int[Array, '*B T S']) -> Int[Array, '*B T S']:
        """Return the bucket of each distance key - query, in tokens."""
        if not self.both_sides:
            return self._one_side(jnp.maximum(-distance, 0), self.count)
        side = self.count // 2
        return jnp.where(distance > 0, side, 0) + self._one_side(jnp.abs(distance), side)

    def _one_side(self, distance: Int[Array, '*B T S'], count: int) -> Int[Array, '*B T S']:
        exact = count // 2
        ratio = jnp.log(jnp.maximum(distance, 1) / exact) / np.log(self.furthest / exact)
        far = jnp.minimum(exact + (ratio * (count - exact)).astype(jnp.int32), count - 1)
        return jnp.where(distance < exact, distance, far)
