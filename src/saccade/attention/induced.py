# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Induced set attention (ISAB): tokens attend to M trained points that have attended to all tokens.

    H = mixer_1(I; X),   Y = mixer_2(X; H),   I [M D] trained, mixer(A; B) attends from A to B

Lee et al. 2019, "Set Transformer", equations 9 and 10, https://arxiv.org/abs/1810.00825, where the mixer is
`attention.set_attention:SetAttention`; any mixer with cross-attention can take its place. Each document of a packed row
has points of its own, for at most `documents` of them: the outputs of later ones are NaN, since a compiled program
cannot raise an error. Every point reads all tokens, so it cannot be causal or decode. Cost: that of the mixer, for M
queries over T tokens and T queries over M points.
"""

from typing import Any, ClassVar, NoReturn

import flax.linen as nn
import jax.numpy as jnp

from saccade.axes import parameter
from saccade.module import Layer
from saccade.types import (
    Capabilities,
    Count,
    CrossMixer,
    Hidden,
    LayerContext,
    Part,
    Source,
    State,
    UserError,
    refuse_terms,
)

__all__ = ['Induced']


class Induced(Layer):
    """Induced set attention.

    Also called: ISAB, induced set attention block, inducing points.

    Attributes:
        points: number of inducing points (M).
        mixer: attention from the points to the tokens, and, with its own parameters, from the tokens to the points.
        documents: largest number of documents in a packed row.
        points_init: initialiser of I.
    """

    points: Count
    mixer: Part[CrossMixer]
    documents: Count = 1
    points_init: Part = Part(nn.initializers.xavier_uniform)

    capabilities: ClassVar[Capabilities] = Capabilities(
        causal=False, cross=False, terms=False, cached=False, time='B T M D + B T D^2', memory='B N T M'
    )
    sees_others: ClassVar[bool] = True
    example: ClassVar[dict[str, Any]] = {
        'points': 3,
        'documents': 4,
        'mixer': {
            'use': 'attention.set_attention:SetAttention',
            'heads': 4,
            'kernel': {'use': 'attention.plain:Plain'},
            'mask': {'use': 'ops.mask:Full'},
            'position': {'use': 'position.none:NoPosition'},
        },
    }

    @nn.compact
    def mix(self, x: Hidden, context: LayerContext, train: bool, state: State | None) -> tuple[Hidden, None]:
        """Attend from the points to the tokens, and from the tokens to the points; there is no state.

        Raises:
            UserError: the context has a source or score terms.
        """
        name = Part(type(self)).name
        context.require_no_source(name)
        refuse_terms(name, context.terms)
        B, _, D = x.shape
        points = parameter(self, 'points', 'M D', self.points_init(), (self.points, D), decays=True)
        segments = None
        if context.segments is not None:
            points = jnp.tile(points, (self.documents, 1))
            segments = jnp.broadcast_to(jnp.repeat(1 + jnp.arange(self.documents), self.points), (B, len(points)))
        points = jnp.broadcast_to(points, (B, *points.shape))
        nowhere = jnp.zeros(points.shape[:2], jnp.int32)
        own = LayerContext(nowhere, segments, source=context.read(x))
        gathered, _ = self.mixer(name='gather').mix(points, own, train, None)
        gathered = self.tap('gathered', 'B M D', gathered)
        to_points = context.replace(source=Source(gathered, nowhere, segments))
        y, _ = self.mixer(name='read').mix(x, to_points, train, None)
        if segments is not None:
            y = jnp.where((context.numbered > self.documents)[..., None], jnp.nan, y)
        return y, None

    def init_state(self, x: Hidden, capacity: int) -> NoReturn:
        """Raise an error: decoding is not supported.

        Raises:
            UserError: always, because every token depends on later ones.
        """
        raise UserError(f'{Part(type(self)).name} cannot decode: every token depends on later ones')
