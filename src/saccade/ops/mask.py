# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Attention masks as values: True for pairs of query and key that may attend.

A mask is a frozen pytree, called on the indices of a block of queries and of keys, so the same value works for the
whole score matrix, one block of it, and a decoding step; `&` and `|` combine masks. `live` is evaluated on ranges
of indices during tracing, so that fully masked blocks are skipped.

Most masks depend only on the distance of two tokens. `anchored` masks count from the first token of a sequence, which
may be anywhere in a packed row: `attention.multi_head:visible` makes them count within each segment. Decoding need
not keep keys more than `lookback` tokens before a query; a mask with a `lookahead` of 0 tokens is causal.
"""

import functools
import operator
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from flax import struct
from jaxtyping import Array, Bool, Int

from saccade.types import (
    Count,
    CountOrZero,
    KeyIndex,
    LayerContext,
    Mask,
    Part,
    QueryIndex,
    UserError,
    require_positive,
)

__all__ = [
    'Causal',
    'CausalAfterPrefix',
    'Chunked',
    'ChunkedWithMemory',
    'Full',
    'Global',
    'Prefix',
    'RandomBlocks',
    'Strided',
    'Summary',
    'Window',
    'all_of',
    'any_of',
]


class MaskBase:
    """Base of masks, which combine with `&` and `|` and declare blocks that can be skipped.

    Attributes:
        anchored: True if the mask depends on the start of the sequence, and not only on the distance of two tokens.
        lookback: maximum distance, in tokens, from a query back to an allowed key; None for no bound.
        lookahead: maximum distance, in tokens, from a query forward to an allowed key: 0 if causal; None if unknown.
    """

    anchored: ClassVar[bool] = False
    lookback: ClassVar[int | None] = None
    lookahead: ClassVar[int | None] = None

    def __call__(self, q_index: QueryIndex, k_index: KeyIndex) -> Bool[Array, '... T S']:
        raise NotImplementedError

    def live(self, q: range, k: range) -> bool:
        """Return False if it is known during tracing that no query of q attends to a key of k."""
        return len(q) > 0 and len(k) > 0

    def live_anywhere(self, q: range, k: range) -> bool:
        """Return `live` for a sequence that may start anywhere in the row: False if it is False for every start."""
        return self.live(q, k)

    def of(self, context: LayerContext) -> 'MaskBase':
        """Return the mask for these rows, if it depends on the context."""
        return self

    def __and__(self, other: 'MaskBase') -> 'MaskBase':
        return Both(self, other)

    def __or__(self, other: 'MaskBase') -> 'MaskBase':
        return Either(self, other)


@struct.dataclass
class Both(MaskBase):
    """Intersection of two masks."""

    first: MaskBase
    second: MaskBase

    def __call__(self, q_index: QueryIndex, k_index: KeyIndex) -> Bool[Array, '... T S']:
        return self.first(q_index, k_index) & self.second(q_index, k_index)

    def live(self, q: range, k: range) -> bool:
        """Return True if both masks are live for the block."""
        return self.first.live(q, k) and self.second.live(q, k)

    def of(self, context: LayerContext) -> MaskBase:
        """Return both masks for these rows, combined by `&`."""
        return self.first.of(context) & self.second.of(context)

    @property
    def anchored(self) -> bool:
        """True if either mask is anchored."""
        return self.first.anchored or self.second.anchored

    @property
    def lookback(self) -> int | None:
        """Smaller of the two bounds, in tokens; None if neither mask has one."""
        return min(_bounds(self, 'lookback'), default=None)

    @property
    def lookahead(self) -> int | None:
        """Smaller of the two bounds, in tokens; None if neither mask has one."""
        return min(_bounds(self, 'lookahead'), default=None)

    def live_anywhere(self, q: range, k: range) -> bool:
        """Return True if both masks may be live for some start of the sequence in the row."""
        return self.first.live_anywhere(q, k) and self.second.live_anywhere(q, k)


@struct.dataclass
class Either(MaskBase):
    """Union of two masks."""

    first: MaskBase
    second: MaskBase

    def __call__(self, q_index: QueryIndex, k_index: KeyIndex) -> Bool[Array, '... T S']:
        return self.first(q_index, k_index) | self.second(q_index, k_index)

    def live(self, q: range, k: range) -> bool:
        """Return True if at least one mask is live for the block."""
        return self.first.live(q, k) or self.second.live(q, k)

    def of(self, context: LayerContext) -> MaskBase:
        """Return both masks for these rows, combined with `|`."""
        return self.first.of(context) | self.second.of(context)

    @property
    def anchored(self) -> bool:
        """True if either mask is anchored."""
        return self.first.anchored or self.second.anchored

    @property
    def lookback(self) -> int | None:
        """Larger of the two bounds, in tokens; None unless both masks have one."""
        bounds = _bounds(self, 'lookback')
        return max(bounds) if len(bounds) == 2 else None

    @property
    def lookahead(self) -> int | None:
        """Larger of the two bounds, in tokens; None unless both masks have one."""
        bounds = _bounds(self, 'lookahead')
        return max(bounds) if len(bounds) == 2 else None

    def live_anywhere(self, q: range, k: range) -> bool:
        """Return True if at least one mask may be live for some start of the sequence in the row."""
        return self.first.live_anywhere(q, k) or self.second.live_anywhere(q, k)


def _bounds(pair: Both | Either, name: str) -> list[int]:
    """Return the `lookback` or `lookahead` of the masks that have one."""
    found = (getattr(mask, name) for mask in (pair.first, pair.second))
    return [bound for bound in found if bound is not None]


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
        """Return True if the block's last query is not before its first key."""
        return super().live(q, k) and q[-1] >= k[0]

    @property
    def lookahead(self) -> int:
        """0 tokens."""
        return 0


@struct.dataclass
class Window(MaskBase):
    """Query i attends to keys i - left <= j <= i + right (Beltagy et al. 2020, section 3.1).

    Also called: sliding window, local, local attention, SWA.

    Attributes:
        left, right: tokens on either side, without the query's own.
    """

    left: CountOrZero = struct.field(pytree_node=False)
    right: CountOrZero = struct.field(pytree_node=False, default=0)

    def __call__(self, q_index: QueryIndex, k_index: KeyIndex) -> Bool[Array, '... T S']:
        distance = q_index[..., :, None] - k_index[..., None, :]
        return (distance <= self.left) & (distance >= -self.right)

    def live(self, q: range, k: range) -> bool:
        """Return True if the nearest query and key of the block are within the window."""
        return super().live(q, k) and q[0] - k[-1] <= self.left and k[0] - q[-1] <= self.right

    @property
    def lookback(self) -> int:
        """`left`, in tokens."""
        return max(self.left, 0)

    @property
    def lookahead(self) -> int:
        """`right`, in tokens."""
        return max(self.right, 0)


@struct.dataclass
class Strided(MaskBase):
    """Query i attends to keys at distances that are multiples of the stride (Child et al. 2019, section 4.3, A^(2)).

    Attributes:
        stride: in tokens.
    """

    stride: Count = struct.field(pytree_node=False)

    def __post_init__(self) -> None:
        require_positive('ops.mask:Strided', stride=self.stride)

    def __call__(self, q_index: QueryIndex, k_index: KeyIndex) -> Bool[Array, '... T S']:
        return (q_index[..., :, None] - k_index[..., None, :]) % self.stride == 0

    def live(self, q: range, k: range) -> bool:
        """Return True if a multiple of the stride lies between the block's least and greatest distance."""
        if not super().live(q, k):
            return False
        nearest, furthest = q[0] - k[-1], q[-1] - k[0]
        return furthest // self.stride * self.stride >= nearest


class Anchored(MaskBase):
    """Base of masks that count from the first token of a sequence."""

    anchored: ClassVar[bool] = True

    def live_anywhere(self, q: range, k: range) -> bool:
        """Return True if neither range is empty: the block may be live for some start of the sequence."""
        return MaskBase.live(self, q, k)


@struct.dataclass
class Chunked(Anchored):
    """Tokens attend within consecutive chunks of equal length (Liu et al. 2018, section 4.2.4, "local attention").

    Attributes:
        length: of a chunk, in tokens.
    """

    length: Count = struct.field(pytree_node=False)

    def __post_init__(self) -> None:
        require_positive('ops.mask:Chunked', length=self.length)

    def __call__(self, q_index: QueryIndex, k_index: KeyIndex) -> Bool[Array, '... T S']:
        return q_index[..., :, None] // self.length == k_index[..., None, :] // self.length

    def live(self, q: range, k: range) -> bool:
        """Return True if a query and a key of the block share a chunk."""
        if not super().live(q, k):
            return False
        return q[0] // self.length <= k[-1] // self.length and k[0] // self.length <= q[-1] // self.length

    def live_anywhere(self, q: range, k: range) -> bool:
        """Return True if a query and a key of the block are less than `length` tokens apart."""
        return Window(self.length - 1, self.length - 1).live(q, k)

    @property
    def lookback(self) -> int:
        """`length` - 1, in tokens."""
        return self.length - 1

    @property
    def lookahead(self) -> int:
        """`length` - 1, in tokens."""
        return self.length - 1


@struct.dataclass
class ChunkedWithMemory(Anchored):
    """Query i attends to its chunk, to later tokens and to the memory before the chunk (Dai et al. 2019, section 3.2).

    `Causal() & ChunkedWithMemory(n, m)` is recurrence over segments of n tokens with a memory of m.

    Attributes:
        length: of a chunk, in tokens.
        memory: tokens before a chunk that its queries attend to.
    """

    length: Count = struct.field(pytree_node=False)
    memory: CountOrZero = struct.field(pytree_node=False)

    example: ClassVar[dict[str, Any]] = {'memory': 2}

    def __post_init__(self) -> None:
        require_positive('ops.mask:ChunkedWithMemory', length=self.length)
        if self.memory < 0:
            raise UserError(f'ops.mask:ChunkedWithMemory: memory must be at least 0, not {self.memory}')

    def __call__(self, q_index: QueryIndex, k_index: KeyIndex) -> Bool[Array, '... T S']:
        first = q_index // self.length * self.length - self.memory
        return k_index[..., None, :] >= first[..., :, None]

    def live(self, q: range, k: range) -> bool:
        """Return True if the block's last key is not before the memory of its first query's chunk."""
        return super().live(q, k) and k[-1] >= q[0] // self.length * self.length - self.memory

    def live_anywhere(self, q: range, k: range) -> bool:
        """Return True if the block's first query is at most `lookback` tokens after its last key."""
        return super().live_anywhere(q, k) and q[0] - k[-1] <= self.lookback

    @property
    def lookback(self) -> int:
        """`length` - 1 + `memory`, in tokens."""
        return self.length - 1 + self.memory


@struct.dataclass
class Summary(Anchored):
    """Every query attends to the last `count` keys of each chunk (Child et al. 2019, section 4.3, A^(2) of "fixed").

    Attributes:
        length: chunk length, in tokens.
        count: number of keys at the end of a chunk.
    """

    length: Count = struct.field(pytree_node=False)
    count: Count = struct.field(pytree_node=False)

    def __post_init__(self) -> None:
        require_positive('ops.mask:Summary', length=self.length, count=self.count)
        if self.count > self.length:
            raise UserError(f'ops.mask:Summary: count {self.count} exceeds the chunk length of {self.length} tokens')

    def __call__(self, q_index: QueryIndex, k_index: KeyIndex) -> Bool[Array, '... T S']:
        allowed = k_index[..., None, :] % self.length >= self.length - self.count
        return jnp.broadcast_to(allowed, (*q_index.shape, k_index.shape[-1]))

    def live(self, q: range, k: range) -> bool:
        """Return True if the block has one of the last `count` keys of a chunk."""
        a_chunk_ends = len(k) > 0 and k[0] // self.length != k[-1] // self.length
        return super().live(q, k) and (a_chunk_ends or k[-1] % self.length >= self.length - self.count)


@struct.dataclass
class Prefix(Anchored):
    """Every query attends to the first keys (Raffel et al. 2020, section 3.2.1: `Causal() | Prefix(p)`, a prefix LM).

    Attributes:
        count: number of keys at the start of the sequence.
    """

    count: Count = struct.field(pytree_node=False)

    def __call__(self, q_index: QueryIndex, k_index: KeyIndex) -> Bool[Array, '... T S']:
        return jnp.broadcast_to(k_index[..., None, :] < self.count, (*q_index.shape, k_index.shape[-1]))

    def live(self, q: range, k: range) -> bool:
        """Return True if the block's first key is in the prefix."""
        return super().live(q, k) and k[0] < self.count

    def live_anywhere(self, q: range, k: range) -> bool:
        """Return True if the block's first key is less than `count` tokens after its last query."""
        # The sequence starts at the query or before it.
        return super().live_anywhere(q, k) and k[0] - q[-1] < self.count

    @property
    def lookahead(self) -> int:
        """`count` - 1, in tokens."""
        return max(self.count - 1, 0)


@struct.dataclass
class PrefixOfRow(Anchored):
    """Every query attends to the prefix of its row.

    Attributes:
        counts: prefix length of each row.
    """

    counts: Int[Array, 'B']

    def __call__(self, q_index: QueryIndex, k_index: KeyIndex) -> Bool[Array, 'B T S']:
        allowed = k_index[..., None, :] < self.counts[:, None, None]
        return jnp.broadcast_to(allowed, (self.counts.shape[0], q_index.shape[-1], k_index.shape[-1]))


@struct.dataclass
class CausalAfterPrefix(Causal):
    """Prefix LM mask: query i attends to keys j <= i, and to the whole prefix of its row.

    Raffel et al. 2020, section 3.2.1, https://arxiv.org/abs/1910.10683; Liu et al. 2018, section 4.2.3,
    https://arxiv.org/abs/1801.10198, whose decoder has source and target in one row. Rows without a prefix are causal.
    """

    def of(self, context: LayerContext) -> MaskBase:
        """Return the mask with each row's prefix from the context; causal without prefixes."""
        return self if context.prefix is None else Causal() | PrefixOfRow(context.prefix)


@struct.dataclass
class Global(Anchored):
    """The first tokens attend to all and are attended to by all (Beltagy et al. 2020, section 3.1, "global attention").

    Attributes:
        count: tokens at the start of the sequence.
    """

    count: Count = struct.field(pytree_node=False)

    def __call__(self, q_index: QueryIndex, k_index: KeyIndex) -> Bool[Array, '... T S']:
        return (q_index[..., :, None] < self.count) | (k_index[..., None, :] < self.count)

    def live(self, q: range, k: range) -> bool:
        """Return True if the block has a query or a key among the first `count` tokens."""
        return super().live(q, k) and min(q[0], k[0]) < self.count


@struct.dataclass
class RandomBlocks(Anchored):
    """Each block of queries attends to fixed random blocks of keys (Zaheer et al. 2020, section 2, "random").

    They are drawn without replacement among the other blocks, up to `length`. With `before`, the draws of a block
    depend only on the seed and its number.

    Attributes:
        size: tokens per block.
        count: blocks drawn for each block.
        length: maximum sequence length, in tokens.
        seed: seed of the draws.
        before: draw only among earlier blocks, for causal masks.
    """

    size: Count = struct.field(pytree_node=False)
    count: Count = struct.field(pytree_node=False)
    length: Count = struct.field(pytree_node=False)
    seed: CountOrZero = struct.field(pytree_node=False)
    before: bool = struct.field(pytree_node=False, default=False)

    example: ClassVar[dict[str, Any]] = {'length': 32}

    def __post_init__(self) -> None:
        require_positive('ops.mask:RandomBlocks', size=self.size, count=self.count, length=self.length)

    def __call__(self, q_index: QueryIndex, k_index: KeyIndex) -> Bool[Array, '... T S']:
        blocks = (q_index[..., :, None] // self.size, k_index[..., None, :] // self.size)
        return jnp.asarray(self._table()).at[blocks].get(mode='fill', fill_value=False)

    def live(self, q: range, k: range) -> bool:
        """Return True if the block overlaps a drawn pair of blocks."""
        if not super().live(q, k):
            return False
        rows, columns = (slice(part[0] // self.size, part[-1] // self.size + 1) for part in (q, k))
        return bool(self._table()[rows, columns].any())

    def _table(self) -> Bool[np.ndarray, 'blocks blocks']:
        return _drawn_blocks(-(-self.length // self.size), self.count, self.seed, self.before)

    @property
    def lookahead(self) -> int | None:
        """0 tokens with `before`, else None."""
        return 0 if self.before else None


@functools.cache
def _drawn_blocks(blocks: int, count: int, seed: int, before: bool) -> Bool[np.ndarray, 'blocks blocks']:
    table = np.zeros((blocks, blocks), bool)
    for row in range(blocks):
        others = np.delete(np.arange(blocks), np.s_[row:] if before else row)
        chosen = np.random.default_rng((seed, row)).choice(others, min(count, len(others)), replace=False)
        table[row, chosen] = True
    return table


@struct.dataclass
class SameSegment(MaskBase):
    """Tokens attend within their own segment; nothing attends to segment 0, which is padding.

    Attributes:
        q_segments, k_segments: segments of queries and keys, by index.
    """

    q_segments: Int[Array, 'B T']
    k_segments: Int[Array, 'B S']

    def __call__(self, q_index: QueryIndex, k_index: KeyIndex) -> Bool[Array, '... T S']:
        q = self.q_segments[:, q_index][..., :, None]
        k = self.k_segments[:, k_index][..., None, :]
        return (q == k) & (k != 0)


@struct.dataclass
class ByPosition(MaskBase):
    """Mask applied to positions instead of indices in the row.

    Attributes:
        q_positions, k_positions: positions of queries and keys, by index.
        aligned: True if a query and a key at the same index are the same token.
    """

    mask: MaskBase
    q_positions: Int[Array, 'B T']
    k_positions: Int[Array, 'B S']
    aligned: bool = struct.field(pytree_node=False)

    def __call__(self, q_index: QueryIndex, k_index: KeyIndex) -> Bool[Array, '... T S']:
        return self.mask(self.q_positions[:, q_index], self.k_positions[:, k_index])

    def live(self, q: range, k: range) -> bool:
        """Return True if the mask may be live for some start of the sequence, or tokens are not aligned."""
        return super().live(q, k) and (not self.aligned or self.mask.live_anywhere(q, k))


@struct.dataclass
class PrecomputedMask(MaskBase):
    """Precomputed mask for fixed queries and keys; the indices are ignored.

    Attributes:
        allowed: True where a query may attend to a key.
    """

    allowed: Bool[Array, '... T S']

    def __call__(self, q_index: QueryIndex, k_index: KeyIndex) -> Bool[Array, '... T S']:
        return self.allowed

    def live(self, q: range, k: range) -> bool:
        """Raise an error: the mask has no blocks.

        Raises:
            TypeError: always.
        """
        raise TypeError('ops.mask:PrecomputedMask is of one set of queries and keys; it has no blocks')


def all_of(masks: tuple[Part[Mask], ...]) -> MaskBase:
    """Return the intersection of masks, such as `causal & window`, for configs."""
    return functools.reduce(operator.and_, (mask() for mask in masks))


def any_of(masks: tuple[Part[Mask], ...]) -> MaskBase:
    """Return the union of masks."""
    return functools.reduce(operator.or_, (mask() for mask in masks))
