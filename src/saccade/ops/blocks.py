# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Blocks of keys for block-sparse attention: block index of each key, and masks of selected blocks.

Blocks are counted from the first token of each segment, so a packed row has separate blocks for each.
"""

import jax
import jax.numpy as jnp
from flax import struct
from jaxtyping import Array, Bool, Float, Int

from saccade.types import Keys


@struct.dataclass
class Tokens:
    """Positions and segments of tokens.

    Attributes:
        positions: position within the segment, 0 for its first token.
        segments: segment of each token, 0 for padding.
    """

    positions: Int[Array, '#B T']
    segments: Int[Array, '#B T']

    @classmethod
    def of_rows(cls, segments: Int[Array, '#B T']) -> 'Tokens':
        """Return the tokens of whole rows with these segments."""
        places = jnp.arange(segments.shape[-1])
        starts = jnp.concatenate([jnp.ones_like(segments[:, :1], bool), segments[:, 1:] != segments[:, :-1]], axis=-1)
        return cls(places - jax.lax.cummax(jnp.where(starts, places, 0), axis=1), segments)

    def causal(self, keys: 'Tokens') -> Bool[Array, 'B 1 T S']:
        """Return the mask of keys in a query's segment, not after it, with an axis for the heads."""
        same = self.segments[..., None] == keys.segments[:, None]
        return (same & (self.positions[..., None] >= keys.positions[:, None]))[:, None]

    def after(self, keys: 'Tokens') -> Bool[Array, 'B 1 T S']:
        """Return the mask of keys in a query's segment, before it, with an axis for the heads."""
        same = self.segments[..., None] == keys.segments[:, None]
        return (same & (self.positions[..., None] > keys.positions[:, None]))[:, None]


@struct.dataclass
class Blocks:
    """Blocks of the keys of each row.

    Attributes:
        size: tokens per block.
        of_key: block index of each key.
        members: one-hot block index of each key; zeros for padding.
        segment, number: segment of each block, and its index within the segment; -1 for unused blocks.
    """

    size: int = struct.field(pytree_node=False)
    of_key: Int[Array, '#B S']
    members: Bool[Array, '#B S M']
    segment: Int[Array, '#B M']
    number: Int[Array, '#B M']

    @classmethod
    def of(cls, keys: Tokens, size: int, packed: bool) -> 'Blocks':
        """Return the blocks of keys; unless `packed`, rows have one segment, and at most S / size blocks."""
        S = keys.segments.shape[-1]
        real = keys.segments != 0
        of_key = jnp.cumsum(real & (keys.positions % size == 0), axis=-1) - 1
        members = (of_key[..., None] == jnp.arange(S if packed else -(-S // size))) & real[..., None]
        segment, number = (
            jnp.max(jnp.where(members, x[..., None], -1), axis=-2) for x in (keys.segments, keys.positions // size)
        )
        return cls(size, of_key, members, segment, number)

    def means(self, k: Keys) -> Float[Array, 'B M K H']:
        """Return the mean of each block's keys, in float32."""
        members = jnp.broadcast_to(self.members, (k.shape[0], *self.members.shape[1:]))
        sums = jnp.einsum('BSM,BSKH->BMKH', members, k.astype(jnp.float32))
        return sums / jnp.maximum(jnp.sum(members, axis=-2), 1)[..., None, None]

    def before(self, queries: Tokens) -> Int[Array, '#B T M']:
        """Return the distance in blocks from a query's own block back to each block; -1 for later or other segments."""
        before = (queries.positions // self.size)[..., None] - self.number[:, None]
        return jnp.where(queries.segments[..., None] == self.segment[:, None], jnp.maximum(before, -1), -1)

    def keys_of_best(self, fit: Float[Array, 'B _ T M'], chosen: int) -> Bool[Array, 'B _ T S']:
        """Return the mask of keys in the `chosen` blocks with the largest fit, without blocks of fit -inf."""
        most = fit.shape[-1]
        best, index = jax.lax.top_k(jax.lax.stop_gradient(fit), min(chosen, most))
        taken = jnp.any((index[..., None] == jnp.arange(most)) & (best > -jnp.inf)[..., None], axis=-2)
        at = jnp.clip(self.of_key, 0, most - 1)[:, None, None]
        return jnp.take_along_axis(taken, jnp.broadcast_to(at, (*taken.shape[:-1], at.shape[-1])), axis=-1)
