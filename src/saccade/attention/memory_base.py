# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Fixed-size state: kernels and mixers that keep a memory of fixed size instead of a KV cache."""

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array

from saccade.attention.base import in_words
from saccade.attention.multi_head import flat, width_of_heads
from saccade.axes import parameter
from saccade.ops import linear_attention
from saccade.ops.linear_attention import LogScaledState, Memory
from saccade.ops.project import each_head, merge_heads, project
from saccade.ops.reach import reach_of, refuse_terms
from saccade.ops.scoring import Scoring
from saccade.types import (
    Count,
    Hidden,
    Keys,
    LayerContext,
    Mixed,
    Norm,
    Part,
    Queries,
    Share,
    UserError,
    Values,
    require_positive,
    require_share,
)


class FeatureKernel(nn.Module):
    """Base of linear attention kernels: weights are products of features, and no score is made.

    Attributes:
        chunk: tokens that attend to each other by a matrix, and to earlier ones by sums. It does not change the output.
    """

    chunk: Count = 64

    def features(self, x: Queries, scale: float) -> tuple[Array, Array]:
        """Return features [B T N R] of queries or keys, at most 1, and the log [B T N] of a factor left out of them."""
        raise NotImplementedError

    def __call__(self, q: Queries, k: Keys, v: Values, scoring: Scoring, train: bool) -> Mixed:
        require_positive(Part(type(self)).name, chunk=self.chunk)
        reach = reach_of(self, scoring, q, k)
        if reach.causal:
            segments = jnp.ones(k.shape[:2], int) if reach.segments is None else reach.segments.k_segments
            return self._read(q, k, v, scoring, segments, self.init_state(k, v, 0))[0]
        features, gain = self.features(k, scoring.scale)
        queries = self.features(q, scoring.scale)[0]
        return linear_attention.attend_all(queries, features, gain, v, reach.segments, self.chunk)

    def init_state(self, k: Keys, v: Values, capacity: int) -> LogScaledState:
        """Return the empty state, whose size does not depend on the capacity."""
        width = jax.eval_shape(lambda: self.features(k, 1.0)[0]).shape[-1]
        return LogScaledState.empty(k.shape[0], k.shape[2], width, v.shape[3] + 1)

    def step(
        self, q: Queries, k: Keys, v: Values, scoring: Scoring, state: LogScaledState, context: LayerContext
    ) -> tuple[Mixed, LogScaledState]:
        """Add a chunk's key features and values to the state and attend to it; return the output and the state after.

        Raises:
            UserError: the mask is not causal.
        """
        if not reach_of(self, scoring, q, k).causal:
            raise UserError(f'{Part(type(self)).name} steps under ops.mask:Causal alone')
        segments = jnp.ones(k.shape[:2], int) if context.segments is None else context.segments
        return self._read(q, k, v, scoring, segments, state)

    def _read(
        self, q: Queries, k: Keys, v: Values, scoring: Scoring, segments: Array, state: LogScaledState
    ) -> tuple[Mixed, LogScaledState]:
        features, gain = self.features(k, scoring.scale)
        return linear_attention.attend(
            self.features(q, scoring.scale)[0], features, gain, v, segments, state, self.chunk
        )


class FixedState(nn.Module):
    """Base of mixers with a memory of fixed size: projections, and a norm and a gate of each head.

    Attributes:
        heads: N.
        head_width: H of queries and keys; None for D / N.
        value_width: of each head's values; None for H.
        head_norm: of each head's output.
        gate: function of a projection of x that the heads' outputs are multiplied by; None for no gate.
        chunk: tokens taken at once, by a matrix; earlier ones come through the memory. It does not change the output.
        dropout: of the output.
        kernel_init, output_init: initialisers of the projections, and of the output projection.
    """

    heads: Count
    head_width: Count | None = None
    value_width: Count | None = None
    head_norm: Part[Norm] | None = None
    gate: Part | None = None
    chunk: Count = 64
    dropout: Share = 0.0
    kernel_init: Part = Part(nn.initializers.lecun_normal)
    output_init: Part = Part(nn.initializers.lecun_normal)

    def update_state(
        self, x: Hidden, q: Queries, k: Queries, v: Array, context: LayerContext, segments: Array, state: Memory
    ) -> tuple[Array, Memory]:
        """Return each head's output [B T N V], and the memory after. To be overridden; called in a compact method."""
        raise NotImplementedError

    def __call__(self, x: Hidden, context: LayerContext, train: bool) -> Hidden:
        return self._around(x, context, train, self.init_state(x, 0))[0]

    def init_state(self, x: Hidden, capacity: int) -> Memory:
        """Return the empty memory, whose size does not depend on the capacity."""
        N, H, V = self._sizes(x.shape[-1])
        return Memory.empty(x.shape[0], N, H, V)

    def step(self, x: Hidden, context: LayerContext, state: Memory) -> tuple[Hidden, Memory]:
        """Run a chunk of tokens through the mixer; return its output [B T D] and the memory after it."""
        return self._around(x, context, False, state)

    def heads_in_words(self, D: int) -> str:
        """Return N and H in words."""
        N, H, _ = self._sizes(D)
        return in_words(N, H)

    @nn.compact
    def _around(self, x: Hidden, context: LayerContext, train: bool, state: Memory) -> tuple[Hidden, Memory]:
        self._refuse(context)
        N, H, V = self._sizes(x.shape[-1])
        q, k, v = (self._heads(name, x, width) for name, width in (('query', H), ('key', H), ('value', V)))
        y, state = self.update_state(x, q, k, v, context, context.numbered, state)
        if self.head_norm is not None:
            y = each_head(self.head_norm(name='head_norm'), y, context.real)
        y = y.astype(x.dtype)
        if self.gate is not None:
            y = y * self.gate(self._heads('gate', x, V))
        y = merge_heads(y, parameter(self, 'output', 'N H -> D', flat(self.output_init, 2), (N, V, x.shape[-1])))
        return nn.Dropout(self.dropout)(y, deterministic=not train), state

    def _heads(self, name: str, x: Hidden, width: int) -> Queries:
        shape = (x.shape[-1], self.heads, width)
        return project(x, parameter(self, name, 'D -> N H', flat(self.kernel_init, 1), shape))

    def _refuse(self, context: LayerContext) -> None:
        name = Part(type(self)).name
        if context.source is not None:
            raise UserError(f'{name} reads its own sequence alone, and no other')
        refuse_terms(name, context.terms)

    def _sizes(self, D: int) -> tuple[int, int, int]:
        """N, H, and the width of the values, at width D."""
        name = Part(type(self)).name
        require_positive(name, heads=self.heads, chunk=self.chunk)
        require_share(name, dropout=self.dropout)
        H = width_of_heads(D, self.heads, self.head_width)
        V = H if self.value_width is None else self.value_width
        require_positive(name, head_width=H, value_width=V)
        return self.heads, H, V
