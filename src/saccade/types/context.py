# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Layer context: positions, segments and other inputs of a layer besides the activations."""

from typing import Any

import jax
import numpy as np
from flax import struct
from jaxtyping import Array, Bool, Float, Int

from saccade.types.arrays import Hidden
from saccade.types.errors import UserError

ONE_SEGMENT = (
    'cannot tell segments apart; it needs rows of one segment, without padding, such as images, or texts of '
    'embed.padding_token:PaddingToken'
)


@struct.dataclass
class Source:
    """Source of cross-attention: the other sequence, to which queries attend.

    Attributes:
        hidden: hidden states of any width; None if a `CrossMixer` has already computed their keys and values.
        positions: position of each token, as in `LayerContext`.
        segments: segment of each token, as in `LayerContext`. Lists are converted to NumPy arrays.
    """

    hidden: Float[Array, 'B S D'] | None
    positions: Int[Array, 'B S']
    segments: Int[Array, 'B S'] | None = None

    def __post_init__(self) -> None:
        _lists_to_arrays(self)

    @property
    def real(self) -> Bool[Array, 'B S'] | None:
        """True for tokens, False for padding; None without padding."""
        return None if self.segments is None else self.segments != 0

    @property
    def numbered(self) -> Int[Array, 'B S']:
        """The segments; all 1 if every row is one segment."""
        given = self.segments
        return jax.numpy.ones_like(self.positions) if given is None else jax.numpy.asarray(given)


@struct.dataclass
class LayerContext:
    """Layer context: positions, segments and other inputs of a layer besides the activations.

    Attributes:
        positions: position of each token within its segment.
        segments: tokens attend only within equal segments; 0 is padding. None: every row is one segment. In a whole
            sequence the tokens of a segment must be contiguous: padding can be before, after or between segments but
            not inside one, as convolutions and masks by place would count it. `require_whole_segments` checks this if
            the segments are known, so not while tracing. Decoding steps skip padding anywhere.
        one_segment: True if an embedding makes every row one segment, or padding throughout, such as an image. Mixers
            then need not tell segments apart.
        source: source of keys and values; None for the tokens themselves.
        terms: score terms shared by all layers.
        types: 1 for tokens of the second of two texts, otherwise 0; None: there is one text.
        prefix: number of tokens at the start of a row among which a mask can allow all pairs, as in a prefix LM; None
            for no prefix. A row with a prefix is one segment.
        layer: number of the layer, from 0; None outside a stack of layers.
        layers: number of layers of the stack (L); None outside a stack.
        handed: arrays handed on by earlier layers, by name; see `saccade.layer_paths:earlier`.

    Lists are converted to NumPy arrays.
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
    one_segment: bool = struct.field(pytree_node=False, default=False)

    def __post_init__(self) -> None:
        _lists_to_arrays(self)

    def read(self, x: Hidden) -> Source:
        """Return the input of the key and value projections: the source, or the tokens x themselves."""
        return Source(x, self.positions, self.segments) if self.source is None else self.source

    def require_no_source(self, name: str) -> None:
        """Check that there is no source, for a mixer without cross-attention.

        Args:
            name: name of the mixer.

        Raises:
            UserError: there is a source.
        """
        if self.source is not None:
            raise UserError(f'{name} reads only its own sequence: it does not support cross-attention')

    def require_one_segment(self, name: str) -> None:
        """Check that every row is one segment, for a mixer of whole rows.

        Args:
            name: name of the mixer.

        Raises:
            UserError: rows may have several segments, or padding.
        """
        if self.segments is not None and not self.one_segment:
            raise UserError(f'{name} {ONE_SEGMENT}')

    def require_whole_segments(self) -> None:
        """Check that the tokens of each segment are contiguous, if the segments are known.

        Raises:
            UserError: a segment continues after padding or after another segment.
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
        """True for tokens, False for padding; None without padding."""
        return None if self.segments is None else self.segments != 0

    @property
    def numbered(self) -> Int[Array, 'B T']:
        """The segments; all 1 if every row is one segment."""
        given = self.segments
        return jax.numpy.ones_like(self.positions) if given is None else jax.numpy.asarray(given)


def _lists_to_arrays(made: Any) -> None:
    for name, value in vars(made).items():
        if isinstance(value, list):
            object.__setattr__(made, name, np.asarray(value))
