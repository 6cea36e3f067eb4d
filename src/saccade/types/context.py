# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Layer context: what a layer may know of its tokens besides their activations."""

from typing import Any

import jax
from flax import struct
from jaxtyping import Array, Bool, Float, Int

from saccade.types.arrays import Hidden
from saccade.types.errors import UserError


@struct.dataclass
class Source:
    """Source of cross-attention: the other sequence that queries attend to.

    Attributes:
        hidden: the tokens, in any width; None where their keys and values were made before, by a `CrossMixer`.
        positions, segments: of each of them, as in `LayerContext`.
    """

    hidden: Float[Array, 'B S D'] | None
    positions: Int[Array, 'B S']
    segments: Int[Array, 'B S'] | None = None

    @property
    def real(self) -> Bool[Array, 'B S'] | None:
        """True where a place holds a token, False for padding; None where all hold one."""
        return None if self.segments is None else self.segments != 0


@struct.dataclass
class LayerContext:
    """Layer context: what a layer may know of its tokens besides their activations.

    Attributes:
        positions: place of each token within its own segment.
        segments: tokens attend only within equal segments; 0 is padding. None: every row is one segment.
        source: where a mixer takes keys and values from; None for the tokens themselves.
        terms: score terms that all layers share.
        types: 1 for tokens of the second of two texts, else 0; None: there is one text.
        prefix: number of tokens at the start of a row that a mask may show to each other, as in a prefix LM; None for
            none. A row with a prefix is one segment.
        layer: number of the layer, from 0; None outside a stack of layers.
        layers: L, how many the stack has; None outside a stack.
        handed: what earlier layers hand on, by name; see `saccade.layers:earlier`.
    """

    positions: Int[Array, 'B T']
    segments: Int[Array, 'B T'] | None = None
    source: Source | None = None
    terms: tuple[Any, ...] = ()
    types: Int[Array, 'B T'] | None = None
    prefix: Int[Array, 'B'] | None = None
    layer: Int[Array, ''] | None = None
    layers: int | None = struct.field(pytree_node=False, default=None)
    handed: dict[str, Any] = struct.field(default_factory=dict)

    def read(self, x: Hidden) -> Source:
        """Return what keys and values are made of: the source, or the tokens x themselves."""
        return Source(x, self.positions, self.segments) if self.source is None else self.source

    def require_no_source(self, name: str) -> None:
        """Check that a mixer is not asked for cross-attention.

        Args:
            name: of the mixer, which has none.

        Raises:
            UserError: there is a source.
        """
        if self.source is not None:
            raise UserError(f'{name} reads its own sequence alone, and no other')

    @property
    def real(self) -> Bool[Array, 'B T'] | None:
        """True where a place holds a token, False for padding; None where all hold one."""
        return None if self.segments is None else self.segments != 0

    @property
    def numbered(self) -> Int[Array, 'B T']:
        """The segments; all 1 where every row is one segment."""
        return jax.numpy.ones_like(self.positions) if self.segments is None else self.segments
