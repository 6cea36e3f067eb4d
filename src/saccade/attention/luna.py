# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Luna: tokens attend to M slots that have attended to all tokens, so that the cost is linear in the length.

    C = attend(P Wp, X Ws, X Ws),   Y = attend(X Wq, C Wc, C Wc) Wo,   P of the next layer = P + C, with its own E added

Ma et al. 2021, "Luna: Linear Unified Nested Attention", section 3, https://arxiv.org/abs/2106.01540
attend is multi-head softmax attention: the first packs the row into C [M D], the second unpacks it. As in the authors'
code, keys and values are one projection. P [M D], normalised before use, starts as the trained E of the first layer.
Theirs has E in the first layer only, which is ours with an E of zeros in later ones; their projections have biases.
Every slot mixes all tokens, so it cannot be causal, decode, or separate padding and packed documents;
`attention.causal_luna` is the causal form. Cost: B T M D in time, B T N M in memory, and the projections.
"""

import dataclasses
from typing import Any, ClassVar

import flax.linen as nn
import jax.numpy as jnp
from einops import rearrange

from saccade.attention.whole_rows_base import WholeRows
from saccade.axes import flat, parameter
from saccade.layer_paths import earlier, hand_on
from saccade.norm.layer import LayerNorm
from saccade.ops.mask import Full
from saccade.ops.project import merge_heads, project, width_of_heads
from saccade.ops.scoring import Scoring
from saccade.types import Capabilities, Count, Hidden, LayerContext, Norm, Part, Queries, Share, State

__all__ = ['Luna']


class Luna(WholeRows):
    """Luna attention.

    Also called: linear unified nested attention, packed and unpacked attention.

    Attributes:
        heads: number of heads (N) of both attentions.
        slots: number of slots (M).
        norm: norm of P.
        dropout: of the output.
        slots_init: initialiser of E.
        kernel_init: initialiser of Wp, Ws, Wq and Wc.
        output_init: initialiser of Wo.
    """

    heads: Count
    slots: Count
    norm: Part[Norm] = Part(LayerNorm)
    dropout: Share = 0.0
    slots_init: Part = Part(nn.initializers.normal, (('stddev', 0.02),))
    kernel_init: Part = Part(nn.initializers.lecun_normal)
    output_init: Part = Part(nn.initializers.lecun_normal)

    capabilities: ClassVar[Capabilities] = dataclasses.replace(
        WholeRows.capabilities, equivariant=True, time='B T M D', memory='B T N M'
    )
    example: ClassVar[dict[str, Any]] = {'slots': 6, 'norm': {'use': 'norm.layer:LayerNorm'}}
    hands_on: ClassVar[tuple[str, ...]] = ('slots',)

    @nn.compact
    def mix(self, x: Hidden, context: LayerContext, train: bool, state: State | None) -> tuple[Hidden, None]:
        """Pack the tokens into slots, and unpack these; there is no state.

        Raises:
            UserError: the context has a source or score terms, or rows may have several segments, or padding.
        """
        self.require_whole_rows(context)
        D = x.shape[-1]
        own = parameter(self, 'slots', 'M D', self.slots_init(), (self.slots, D), decays=True)
        slots = own + earlier(context, 'slots', jnp.zeros((len(x), self.slots, D), x.dtype))
        scoring = Scoring(Full(), scale=width_of_heads(D, self.heads, None) ** -0.5)
        tokens = self._heads('pack_key', x)
        packed, _ = scoring.attend(self._heads('pack_query', self.norm(name='norm')(slots)), tokens, tokens)
        packed = self.tap('packed', 'B M D', rearrange(packed, 'B M N H -> B M (N H)'))
        hand_on(self, 'slots', slots + packed)
        read = self._heads('key', packed)
        mixed, _ = scoring.attend(self._heads('query', x), read, read)
        shape = (*mixed.shape[-2:], D)
        y = merge_heads(
            self.tap('heads', 'B T N H', mixed), parameter(self, 'output', 'N H -> D', flat(self.output_init, 2), shape)
        )
        return nn.Dropout(self.dropout)(y, deterministic=not train), None

    def _heads(self, name: str, x: Hidden) -> Queries:
        D = x.shape[-1]
        return project(
            x, parameter(self, name, 'D -> N H', flat(self.kernel_init, 1), (D, self.heads, D // self.heads))
        )
