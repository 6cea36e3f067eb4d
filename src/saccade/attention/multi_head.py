# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Multi-head attention: project, split, attend, merge.

    q = x Wq, k = x Wk, v = x Wv;   y = concat_n(attend(q_n, k_g, v_g)) Wo,   g = n // G

Vaswani et al. 2017, "Attention Is All You Need", section 3.2.2, https://arxiv.org/abs/1706.03762
With `key_value_heads` K < N it is grouped-query attention (Ainslie et al. 2023, https://arxiv.org/abs/2305.13245),
with K = 1 multi-query (Shazeer 2019, https://arxiv.org/abs/1911.02150). How the heads attend is the kernel's
affair. Cost: (2 + 2/G) T D N H for the projections, beside the kernel's.
"""

import math
from collections.abc import Callable
from typing import Any

import flax.linen as nn
import jax.numpy as jnp

from saccade.ops.mask import SameSegment
from saccade.ops.project import merge_heads, project
from saccade.ops.scoring import Scoring
from saccade.types import (
    Hidden,
    Kernel,
    Keys,
    Mask,
    PairPosition,
    Part,
    Queries,
    Scope,
    ScoreTerm,
    State,
    UserError,
    require_positive,
    require_share,
)


class MultiHead(nn.Module):
    """Self-attention.

    Attributes:
        heads: N.
        kernel: how queries meet keys.
        mask: which pairs may attend, beside padding and packing.
        position: what is done to queries and keys, or to their scores, by position.
        key_value_heads: K; None for N.
        head_width: H; None for D / N.
        scale: factor of the scores; None for 1 / sqrt(H).
        terms: what else is done to the scores, in order, after the position's own.
        bias: of the query, key and value projections.
        output_bias: of the output projection.
        dropout: of the output.
        kernel_init, output_init: initialisers of the projections, and of the output projection.
    """

    heads: int
    kernel: Part[Kernel]
    mask: Part[Mask]
    position: Part[PairPosition]
    key_value_heads: int | None = None
    head_width: int | None = None
    scale: float | None = None
    terms: tuple[Part[ScoreTerm], ...] = ()
    bias: bool = False
    output_bias: bool = False
    dropout: float = 0.0
    kernel_init: Part = Part(nn.initializers.lecun_normal)
    output_init: Part = Part(nn.initializers.lecun_normal)

    def __call__(self, x: Hidden, scope: Scope, train: bool) -> Hidden:
        def attend(kernel: Kernel, q: Queries, k: Keys, v: Keys, scoring: Scoring) -> tuple[Queries, None]:
            if scope.segments is not None:
                scoring = scoring.replace(mask=scoring.mask & SameSegment(scope.segments, scope.segments))
            return kernel(q, k, v, scoring, train), None

        return self._around(x, scope, train, attend)[0]

    def init_state(self, x: Hidden, capacity: int) -> State:
        _, K, H = self._sizes(x.shape[-1])
        return self.kernel(parent=None).init_state(jnp.zeros((*x.shape[:2], K, H), x.dtype), capacity)

    def step(self, x: Hidden, scope: Scope, state: State) -> tuple[Hidden, State]:
        return self._around(x, scope, False, lambda kernel, *rest: kernel.step(*rest, state, scope))

    @nn.compact
    def _around(
        self, x: Hidden, scope: Scope, train: bool, attend: Callable[..., tuple[Queries, Any]]
    ) -> tuple[Hidden, Any]:
        N, K, H = self._sizes(x.shape[-1])
        q, k, v = (self._heads(name, x, heads, H) for name, heads in (('query', N), ('key', K), ('value', K)))
        position = self.position(name='position')
        q, k = position.rotate(q, scope.positions), position.rotate(k, scope.positions)
        terms = (*position.terms(N), *(term() for term in self.terms))
        scoring = Scoring(self.mask(), terms, H**-0.5 if self.scale is None else self.scale)
        mixed, state = attend(self.kernel(name='kernel'), q, k, v, scoring)
        y = merge_heads(mixed, self.param('output', _flat(self.output_init, 2), (N, H, x.shape[-1])))
        if self.output_bias:
            y = y + self.param('output_bias', nn.initializers.zeros, y.shape[-1:])
        return nn.Dropout(self.dropout)(y, deterministic=not train), state

    def _heads(self, name: str, x: Hidden, heads: int, H: int) -> Queries:
        y = project(x, self.param(name, _flat(self.kernel_init, 1), (x.shape[-1], heads, H)))
        return y + self.param(f'{name}_bias', nn.initializers.zeros, (heads, H)) if self.bias else y

    def _sizes(self, D: int) -> tuple[int, int, int]:
        """N, K and H at width D."""
        K = self.heads if self.key_value_heads is None else self.key_value_heads
        require_positive('attention.multi_head:MultiHead', heads=self.heads, key_value_heads=K)
        require_share('attention.multi_head:MultiHead', dropout=self.dropout)
        if self.head_width is None and D % self.heads:
            raise UserError(
                f'width {D} is not divisible by {self.heads} heads: choose a width that is, or give head_width'
            )
        if self.heads % K:
            raise UserError(f'{self.heads} heads cannot share {K} key_value_heads: choose a divisor of {self.heads}')
        return self.heads, K, self.head_width or D // self.heads


def _flat(init: Part, inputs: int) -> Callable[..., Any]:
    """Initialise a kernel of several axes as the matrix it stands for: `inputs` axes in, the rest out."""

    def make(key: Any, shape: tuple[int, ...]) -> Any:
        rows, columns = math.prod(shape[:inputs]), math.prod(shape[inputs:])
        return init()(key, (rows, columns)).reshape(shape)

    return make
