# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Multihead attention block (MAB) of the Set Transformer: a whole block, whose residual is the projected query.

    o = concat_n(q_n + softmax(q_n k_n^T / sqrt(N H)) v_n),   h = norm(o),   y = norm(h + relu(h Wo))

Lee et al. 2019, "Set Transformer", equations 6 to 8, https://arxiv.org/abs/1810.00825; as in the authors' code
(https://github.com/juho-lee/set_transformer, modules.py), scores are divided by the square root of the width of all
heads' values, no projection follows the heads, and the feed-forward layer is one linear map with a ReLU. Over the
tokens themselves it is their SAB. It has its own residuals and norms: use it in `block.no_residual:NoResidual` without
norms and feed-forward layer. Their projections have biases (`bias`, `output_bias`). Cost: multi-head attention.
"""

from typing import Any, ClassVar

import jax
from einops import rearrange

from saccade.attention.multi_head import MultiHead, SharedKV
from saccade.norm.layer import LayerNorm
from saccade.ops.scoring import Scoring
from saccade.types import (
    CachedKeys,
    Hidden,
    LayerContext,
    Mixed,
    Norm,
    PairPosition,
    Part,
    Queries,
    Real,
    State,
    UserError,
    Values,
)

__all__ = ['SetAttention']


class SetAttention(MultiHead):
    """Multihead attention block of the Set Transformer.

    Also called: MAB, SAB, set attention block.

    Attributes: the attributes of MultiHead, where `scale` is 1 / sqrt(N H) if None; norm, of both residual sums, None
        for no norm.
    """

    norm: Part[Norm] | None = Part(LayerNorm)

    example: ClassVar[dict[str, Any]] = {'norm': {'use': 'norm.layer:LayerNorm'}}

    def scoring(self, x: Hidden, context: LayerContext, position: PairPosition, made: SharedKV | None) -> Scoring:
        """Return the scoring of MultiHead, whose scale is of the width of all heads."""
        N, _, H = self.sizes(x.shape[-1])
        scoring = super().scoring(x, context, position, made)
        return scoring.replace(scale=(N * H) ** -0.5) if self.scale is None else scoring

    def attend(
        self,
        q: Queries,
        k: CachedKeys,
        v: Values,
        scoring: Scoring,
        x: Hidden,
        context: LayerContext,
        train: bool,
        state: State | None,
    ) -> tuple[Mixed, State]:
        """Attend, and add each head's query to its output.

        Raises:
            UserError: the heads are not as wide together as the layer.
        """
        N, H = q.shape[-2:]
        if x.shape[-1] != N * H:
            raise UserError(
                f'{Part(type(self)).name} adds its queries to the layer: {N} heads of {H} must have the width '
                f'{x.shape[-1]} together'
            )
        mixed, state = super().attend(q, k, v, scoring, x, context, train, state)
        return q + mixed, state

    def project_output(self, x: Hidden, mixed: Mixed, real: Real | None, train: bool) -> Hidden:
        """Merge the heads, and add the feed-forward layer's output, with a norm after each sum."""
        h = self._normalised('attended_norm', rearrange(mixed, 'B T N H -> B T (N H)'), real)
        heads = rearrange(h, 'B T (N H) -> B T N H', N=mixed.shape[-2])
        return self._normalised('norm', h + jax.nn.relu(super().project_output(x, heads, real, train)), real)

    def _normalised(self, name: str, x: Hidden, real: Real | None) -> Hidden:
        return x if self.norm is None else self.norm(name=name)(x, real)
