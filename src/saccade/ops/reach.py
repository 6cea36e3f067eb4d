# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Masks of kernels without scores: causal or full, within segments. Other masks and terms raise an error."""

from flax import struct

from saccade.ops.mask import Both, ByPosition, Causal, CausalAfterPrefix, Full, SameSegment
from saccade.ops.scoring import Scoring
from saccade.types import ONE_SEGMENT, CachedKeys, Kernel, Mask, Part, Queries, UserError, refuse_terms


@struct.dataclass
class Reach:
    """Mask of a kernel without scores.

    Attributes: causal; segments of the tokens, or None.
    """

    causal: bool = struct.field(pytree_node=False)
    segments: SameSegment | None = None

    def __and__(self, other: 'Reach') -> 'Reach':
        return Reach(self.causal or other.causal, self.segments or other.segments)


def reach_of(kernel: Kernel, scoring: Scoring, q: Queries, k: CachedKeys) -> Reach:
    """Return the mask of a scoring for a kernel without scores.

    Raises:
        UserError: there is a score term, or the mask or the lengths are not supported.
    """
    name, can = Part(type(kernel)).name, kernel.capabilities
    refuse_terms(name, scoring.terms)
    reach = _read(scoring.mask, name)
    if reach.causal and not can.causal:
        raise UserError(f'{name} cannot be causal; its mask must be ops.mask:Full')
    if not reach.causal and not can.full:
        raise UserError(f'{name} is causal; its mask must be ops.mask:Causal, not ops.mask:Full')
    if reach.segments is not None and not can.packed:
        raise UserError(f'{name} {ONE_SEGMENT}')
    if q.shape[1] != k.shape[1] and (reach.causal or not can.cross):
        raise UserError(
            f'{name}: {q.shape[1]} queries over {k.shape[1]} keys; without ops.mask:Full the numbers must be equal'
        )
    return reach


def _read(mask: Mask, name: str) -> Reach:
    match mask:
        case CausalAfterPrefix():
            pass  # an error even if these rows have no prefix, since others may
        case Causal():
            return Reach(causal=True)
        case Full():
            return Reach(causal=False)
        case SameSegment():
            return Reach(causal=False, segments=mask)
        case Both():
            return _read(mask.first, name) & _read(mask.second, name)
        case ByPosition():
            if not (reach := _read(mask.mask, name)).causal:
                return reach
            raise UserError(f'{name} is causal within one sequence, not by the positions of another')
    raise UserError(f'{name} does not support {Part(type(mask)).name}; it supports ops.mask:Causal and ops.mask:Full')
