# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Both directions: a causal mixer for encoders, once from each end of a sequence, so that every token sees all others.

    y = f(x) + reversed(b(reversed(x))),      f and b of one kind, with parameters of their own

Schuster, Paliwal 1997, "Bidirectional Recurrent Neural Networks", https://doi.org/10.1109/78.650093, for any mixer:
the sum of two projected outputs is one projection of both side by side. A token itself is read twice. Each document of
a packed row is reversed by itself, and its places are counted from its other end. Around a mixer that is not causal it
has no use. It cannot be causal nor decode, reads no other sequence, and takes no score terms that layers share, as
these count from one end, nor a mixer that hands something on to later layers. Cost: twice the mixer's.
"""

from typing import Any, ClassVar, NoReturn

import flax.linen as nn
import jax
import jax.numpy as jnp

from saccade.layers import hands_on
from saccade.types import Capabilities, Hidden, Layer, LayerContext, Mixer, Part, State, UserError

__all__ = ['BothDirections']

_NAME = 'attention.both_directions:BothDirections'


class BothDirections(Layer):
    """Both directions of a causal mixer. Attributes: mixer of each direction."""

    mixer: Part[Mixer]

    capabilities: ClassVar[Capabilities] = Capabilities(
        causal=False, cross=False, terms=False, cached=False, equivariant=False
    )
    sees_others: ClassVar[bool] = True
    example: ClassVar[dict[str, Any]] = {'mixer': {'use': 'attention.gated_linear:GatedLinear', 'heads': 2, 'chunk': 4}}

    @nn.compact
    def mix(self, x: Hidden, context: LayerContext, train: bool, state: State | None) -> tuple[Hidden, None]:
        """Add the outputs of the two directions up; there is no state.

        Raises:
            UserError: there is another sequence to read, a score term of all layers, or a mixer that hands values on.
        """
        if context.source is not None or context.terms:
            raise UserError(f'{_NAME} reads its own sequence alone, and takes no score terms that layers share')
        if hands_on((self.mixer,)):
            raise UserError(f'{_NAME}: {self.mixer.name} hands on to later layers what would come in two orders')
        forward, _ = self.mixer(name='forward').mix(x, context, train, None)
        backward, _ = self.mixer(name='backward').mix(x[:, ::-1], from_the_end(context), train, None)
        return forward + backward[:, ::-1], None

    def init_state(self, x: Hidden, capacity: int) -> NoReturn:
        """Refuse to decode.

        Raises:
            UserError: always, since every token depends on later ones.
        """
        raise UserError(f'{_NAME} cannot decode: every token depends on later ones')


def from_the_end(context: LayerContext) -> LayerContext:
    """Return the context of the same tokens in reverse: each document keeps its number and is counted from its end."""
    segments, places = context.numbered[:, ::-1], jnp.arange(context.positions.shape[1])
    begins = segments != jnp.pad(segments[:, :-1], ((0, 0), (1, 0)), constant_values=-1)
    first = jax.lax.cummax(jnp.where(begins, places, 0), axis=1)
    return context.replace(
        positions=jnp.where(segments != 0, places - first, 0),
        segments=None if context.segments is None else segments,
        types=None if context.types is None else context.types[:, ::-1],
    )
