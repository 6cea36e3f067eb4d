# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base class of Synthesizers: attention whose keys are trained vectors of positions, not projections of tokens."""

from typing import ClassVar

import flax.linen as nn
import jax.numpy as jnp
from jaxtyping import Array, Int

from saccade.attention.multi_head import MultiHead, SharedKV
from saccade.axes import parameter
from saccade.types import (
    CachedKeys,
    Capabilities,
    Count,
    Hidden,
    LayerContext,
    Part,
    Positive,
    Queries,
    UserError,
    Values,
)


class SynthesizerBase(MultiHead):
    """Base of Synthesizers. A subclass makes queries and keys; values are as in multi-head attention.

    Attributes: the attributes of MultiHead, with a default scale of 1 and without `head_norm`; length, the number of
    positions; table_init, the initialiser of tables by position.
    """

    length: Count
    scale: Positive = 1.0
    table_init: Part = Part(nn.initializers.normal, (('stddev', 0.02),))

    capabilities: ClassVar[Capabilities] = Capabilities(equivariant=False)

    def queries(self, x: Hidden, positions: Int[Array, 'B T']) -> Queries:
        """Return the queries of tokens. Abstract; called in a compact method."""
        raise NotImplementedError

    def keys(self, x: Hidden, positions: Int[Array, 'B S']) -> CachedKeys:
        """Return the keys of positions, in the dtype of x. Abstract; called in a compact method."""
        raise NotImplementedError

    def project(self, x: Hidden, context: LayerContext, made: SharedKV | None) -> tuple[Queries, CachedKeys, Values]:
        """Return queries, keys by position, and values of the source (without one, of x), or those made before.

        Raises:
            UserError: a sequence is longer than `length`, or `head_norm` is set.
        """
        name, source = Part(type(self)).name, context.read(x)
        longest = max(context.positions.shape[1], source.positions.shape[1])
        if longest > self.length:
            raise UserError(
                f'{name}: a sequence of {longest} tokens is longer than the {self.length} positions of length'
            )
        if self.head_norm is not None or self.norm_together:
            raise UserError(f'{name} has no keys of tokens to normalise: set head_norm to None')
        q = self.queries(x, context.positions)
        if made is not None:
            return q, made.k, made.v
        v = self.project_heads({'value': source.hidden}, x.shape[-1])['value']
        return q, self.keys(x, source.positions), v

    def by_position(
        self, name: str, axes: str, shape: tuple[int, int], positions: Int[Array, 'B _'], like: Hidden
    ) -> Array:
        """Look up [B _ *shape] in a table by position. A decoding step beyond the table reads NaN."""
        size = (self.length, *shape)
        table = parameter(self, name, axes, self.table_init(), size, decays=True, dtype=jnp.float32)
        # Cast after the lookup, so that the gradient is summed over the rows of the batch in the wider dtype.
        return jnp.take(table, positions, axis=0, mode='fill').astype(like.dtype)
