# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Bidirectional wrapper of a causal mixer, for encoders: one pass from each end of a sequence.

    y = f(x) + reversed(b(reversed(x))),      f and b of one kind, with separate parameters

Schuster, Paliwal 1997, "Bidirectional Recurrent Neural Networks", https://doi.org/10.1109/78.650093, for any mixer:
the sum of two projected outputs equals one projection of their concatenation. A token itself is read twice. Each
document of a packed row is reversed separately, and its positions count from its other end. Only useful with causal
mixers. It cannot be causal or decode, and does not support cross-attention, score terms shared by layers (which count
from one end), or mixers that pass values to later layers. Cost: twice the mixer's.
"""

from typing import Any, ClassVar, NoReturn

import flax.linen as nn
import jax
import jax.numpy as jnp

from saccade.layer_paths import hands_on
from saccade.module import Layer
from saccade.types import Capabilities, Hidden, LayerContext, Mixer, Part, State, UserError

__all__ = ['BothDirections']

_NAME = 'attention.both_directions:BothDirections'


class BothDirections(Layer):
    """Bidirectional wrapper of a causal mixer. Attributes: mixer of each direction."""

    mixer: Part[Mixer]

    capabilities: ClassVar[Capabilities] = Capabilities(
        causal=False, cross=False, terms=False, cached=False, equivariant=False
    )
    sees_others: ClassVar[bool] = True
    example: ClassVar[dict[str, Any]] = {'mixer': {'use': 'attention.gated_linear:GatedLinear', 'heads': 2, 'chunk': 4}}

    @nn.compact
    def mix(self, x: Hidden, context: LayerContext, train: bool, state: State | None) -> tuple[Hidden, None]:
        """Return the sum of the outputs of the two directions; there is no state.

        Raises:
            UserError: the context has a source or shared score terms, or the mixer passes values to later layers.
        """
        if context.source is not None or context.terms:
            raise UserError(f'{_NAME} supports only self-attention, without score terms shared by layers')
        if hands_on((self.mixer,)):
            raise UserError(f'{_NAME}: {self.mixer.name} passes values on, which is undefined for two directions')
        forward, _ = self.mixer(name='forward').mix(x, context, train, None)
        backward, _ = self.mixer(name='backward').mix(x[:, ::-1], from_the_end(context), train, None)
        return forward + backward[:, ::-1], None

    def init_state(self, x: Hidden, capacity: int) -> NoReturn:
        """Raise an error: decoding is not supported.

        Raises:
            UserError: always, because every token depends on later ones.
        """
        raise UserError(f'{_NAME} cannot decode: every token depends on later ones')


def from_the_end(context: LayerContext) -> LayerContext:
    """Return the context of the reversed tokens: documents keep their segment, and positions count from their end."""
    segments, places = context.numbered[:, ::-1], jnp.arange(context.positions.shape[1])
    begins = segments != jnp.pad(segments[:, :-1], ((0, 0), (1, 0)), constant_values=-1)
    first = jax.lax.cummax(jnp.where(begins, places, 0), axis=1)
    return context.replace(
        positions=jnp.where(segments != 0, places - first, 0),
        segments=None if context.segments is None else segments,
        types=None if context.types is None else context.types[:, ::-1],
    )
