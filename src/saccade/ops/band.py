# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Masks as a band around the diagonal within segments, as supported by fused kernels of other authors.

Query i attends to keys i - left <= j <= i + right of its own segment. Causal and full masks, windows, padding, packed
rows and their intersections are bands; no other mask is.
"""

from flax import struct

from saccade.ops.mask import Both, ByPosition, Causal, CausalAfterPrefix, Full, SameSegment, Window
from saccade.types import Mask, Part, UserError


@struct.dataclass
class Band:
    """Band of a mask.

    Attributes:
        left, right: tokens on either side of a query; None for no bound.
        segments: segment of each token; None if rows are one segment without padding.
    """

    left: int | None = struct.field(pytree_node=False, default=None)
    right: int | None = struct.field(pytree_node=False, default=None)
    segments: SameSegment | None = None

    @property
    def full(self) -> bool:
        """True if neither side has a bound."""
        return self.left is None and self.right is None

    @property
    def causal(self) -> bool:
        """True if a query attends to itself, and to no later key."""
        return self.right == 0

    def __and__(self, other: 'Band') -> 'Band':
        sides = ((self.left, other.left), (self.right, other.right))
        left, right = (min((size for size in pair if size is not None), default=None) for pair in sides)
        return Band(left, right, self.segments or other.segments)


def band_of(mask: Mask, name: str) -> Band:
    """Return the band of a mask. Args: name of the kernel.

    Raises:
        UserError: the mask is not a band; the message names it.
    """
    match mask:
        case CausalAfterPrefix():
            pass  # an error even if these rows have no prefix, since others may
        case Full():
            return Band()
        case Causal():
            return Band(right=0)
        case Window():
            return Band(mask.left, mask.right)
        case SameSegment():
            return Band(segments=mask)
        case Both():
            return band_of(mask.first, name) & band_of(mask.second, name)
        case ByPosition():
            if (band := band_of(mask.mask, name)).full:
                return band
            raise UserError(f'{name} supports masks within one sequence, not by the positions of another')
    raise UserError(
        f'{name} does not support {Part(type(mask)).name}; it supports ops.mask:Causal, Full and Window within segments'
    )
