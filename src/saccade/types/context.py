# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Layer context: what a layer may know of its tokens besides their activations."""

from typing import Any

import jax
import numpy as np
from flax import struct
from jaxtyping import Array, Bool, Float, Int

from saccade.types.arrays import Hidden
from saccade.types.errors import UserError


@struct.dataclass
class Source:
    """Source of cross-attention: the other sequence that queries attend to.

    Attributes:
        hidden: the tokens, in any width; None where their keys and values were made before, by a `CrossMixer`.
        positions, segments: of each of them, as in `LayerContext`. Lists become NumPy arrays.
    """

    hidden: Float[Array, 'B S D'] | None
    positions: Int[Array, 'B S']
    segments: Int[Array, 'B S'] | None = None

    def __post_init__(self) -> None:
        _lists_to_arrays(self)

    @property
    def real(self) -> Bool[Array, 'B S'] | None:
        """True where a place holds a token, False for padding; None where all hold one."""
        return None if self.segments is None else self.segments != 0

    @property
    def numbered(self) -> Int[Array, 'B S']:
        """The segments; all 1 where every row is one segment."""
        given = self.segments
        return jax.numpy.ones_like(self.positions) if given is None else jax.numpy.asarray(given)


@struct.dataclass
class LayerContext:
    """Layer context: what a layer may know of its tokens besides their activations.

    Attributes:
        positions: place of each token within its own segment.
        segments: tokens attend only within equal segments; 0 is padding. None: every row is one segment. The tokens of
            a segment of a whole sequence are next to each other: padding is before, after or between segments and never
            inside one, where convolutions and masks by place would count it. `require_whole_segments` checks it where
            the segments are known, which they are not while tracing. Decoding steps pass over padding anywhere.
        source: where a mixer takes keys and values from; None for the tokens themselves.
        terms: score terms that all layers share.
        types: 1 for tokens of the second of two texts, else 0; None: there is one text.
        prefix: number of tokens at the start of a row that a mask may show to each other, as in a prefix LM; None for
            none. A row with a prefix is one segment.
        layer: number of the layer, from 0; None outside a stack of layers.
        layers: L, how many the stack has; None outside a stack.
        handed: what earlier layers hand on, by name; see `saccade.layers:earlier`.

    Lists become NumPy arrays.
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

    def __post_init__(self) -> None:
        _lists_to_arrays(self)

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

    def require_whole_segments(self) -> None:
        """Refuse rows in which a segment goes on after padding or after another segment, where they are known.

        Raises:
            UserError: there is one.
        """
        given = self.segments
        if isinstance(given, jax.core.Tracer) or not isinstance(given, np.ndarray | jax.Array):
            return
        if isinstance(given, jax.Array) and not given.is_fully_addressable:
            return
        segments = np.asarray(given)
        begins = np.sort(np.where(np.diff(segments, axis=-1, prepend=0) != 0, segments, 0), axis=-1)
        rows, places = np.nonzero((begins[:, 1:] == begins[:, :-1]) & (begins[:, 1:] != 0))
        if len(rows):
            raise UserError(
                f'segments[{rows[0]}]: segment {begins[rows[0], places[0]]} is in two pieces; its tokens must be next '
                'to each other, and padding before or after them'
            )

    @property
    def real(self) -> Bool[Array, 'B T'] | None:
        """True where a place holds a token, False for padding; None where all hold one."""
        return None if self.segments is None else self.segments != 0

    @property
    def numbered(self) -> Int[Array, 'B T']:
        """The segments; all 1 where every row is one segment."""
        given = self.segments
        return jax.numpy.ones_like(self.positions) if given is None else jax.numpy.asarray(given)


def _lists_to_arrays(made: Any) -> None:
    for name, value in vars(made).items():
        if isinstance(value, list):
            object.__setattr__(made, name, np.asarray(value))
