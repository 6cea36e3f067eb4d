# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Masks as values: which query may attend to which key, True where it may.

A mask is a frozen pytree, called on the indices of a block of queries and of keys, so the same value serves the
whole score matrix, one block of it, and a decoding step; `&` and `|` combine masks. `live` answers from ranges
of indices alone, while tracing, so that blocks in which nothing may attend are never visited.
"""

import functools
import operator

import jax.numpy as jnp
from flax import struct
from jaxtyping import Array, Bool, Int

from saccade.types import KeyIndex, Mask, Part, QueryIndex


class MaskBase:
    """What every mask can do: combine, and say which blocks are worth visiting."""

    def __call__(self, q_index: QueryIndex, k_index: KeyIndex) -> Bool[Array, '... T S']:
        raise NotImplementedError

    def live(self, q: range, k: range) -> bool:
        return len(q) > 0 and len(k) > 0

    def __and__(self, other: 'MaskBase') -> 'MaskBase':
        return Both(self, other)

    def __or__(self, other: 'MaskBase') -> 'MaskBase':
        return Either(self, other)


@struct.dataclass
class Both(MaskBase):
    """Attend where the two masks both allow it."""

    first: MaskBase
    second: MaskBase

    def __call__(self, q_index: QueryIndex, k_index: KeyIndex) -> Bool[Array, '... T S']:
        return self.first(q_index, k_index) & self.second(q_index, k_index)

    def live(self, q: range, k: range) -> bool:
        return self.first.live(q, k) and self.second.live(q, k)


@struct.dataclass
class Either(MaskBase):
    """Attend where at least one of the two masks allows it."""

    first: MaskBase
    second: MaskBase

    def __call__(self, q_index: QueryIndex, k_index: KeyIndex) -> Bool[Array, '... T S']:
        return self.first(q_index, k_index) | self.second(q_index, k_index)

    def live(self, q: range, k: range) -> bool:
        return self.first.live(q, k) or self.second.live(q, k)


@struct.dataclass
class Full(MaskBase):
    """Every query attends to every key (Devlin et al. 2019, a bidirectional encoder)."""

    def __call__(self, q_index: QueryIndex, k_index: KeyIndex) -> Bool[Array, '... T S']:
        return jnp.ones((*q_index.shape, k_index.shape[-1]), bool)


@struct.dataclass
class Causal(MaskBase):
    """Query i attends to keys j <= i (Vaswani et al. 2017, section 3.2.3)."""

    def __call__(self, q_index: QueryIndex, k_index: KeyIndex) -> Bool[Array, '... T S']:
        return q_index[..., :, None] >= k_index[..., None, :]

    def live(self, q: range, k: range) -> bool:
        return super().live(q, k) and q[-1] >= k[0]


@struct.dataclass
class Window(MaskBase):
    """Query i attends to keys i - left <= j <= i + right (Beltagy et al. 2020, section 3.1).

    Attributes:
        left, right: tokens on either side. The query's own position does not count.
    """

    left: int = struct.field(pytree_node=False)
    right: int = struct.field(pytree_node=False, default=0)

    def __call__(self, q_index: QueryIndex, k_index: KeyIndex) -> Bool[Array, '... T S']:
        distance = q_index[..., :, None] - k_index[..., None, :]
        return (distance <= self.left) & (distance >= -self.right)

    def live(self, q: range, k: range) -> bool:
        return super().live(q, k) and q[0] - k[-1] <= self.left and k[0] - q[-1] <= self.right


@struct.dataclass
class SameSegment(MaskBase):
    """Tokens attend within their own segment; segment 0 is padding, and nothing attends to it.

    Attributes:
        q_segments, k_segments: segment of each query and of each key, looked up by index.
    """

    q_segments: Int[Array, 'B T']
    k_segments: Int[Array, 'B S']

    def __call__(self, q_index: QueryIndex, k_index: KeyIndex) -> Bool[Array, '... T S']:
        q = self.q_segments[:, q_index][..., :, None]
        k = self.k_segments[:, k_index][..., None, :]
        return (q == k) & (k != 0)


@struct.dataclass
class Given(MaskBase):
    """A mask already worked out for the queries and keys at hand; the indices are ignored.

    Attributes:
        allowed: True where a query may attend to a key.
    """

    allowed: Bool[Array, '... T S']

    def __call__(self, q_index: QueryIndex, k_index: KeyIndex) -> Bool[Array, '... T S']:
        return self.allowed

    def live(self, q: range, k: range) -> bool:
        raise TypeError('ops.mask:Given is of one set of queries and keys; it has no blocks')


def all_of(masks: tuple[Part[Mask], ...]) -> MaskBase:
    """What every one of the masks allows, as a config writes `causal & window`."""
    return functools.reduce(operator.and_, (mask() for mask in masks))


def any_of(masks: tuple[Part[Mask], ...]) -> MaskBase:
    """What at least one of the masks allows."""
    return functools.reduce(operator.or_, (mask() for mask in masks))
