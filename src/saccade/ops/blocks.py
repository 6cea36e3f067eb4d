# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Blocks of keys for sparse attention: runs of tokens of one segment, and the blocks that each query chooses.

Blocks are counted from the first token of each segment, so a packed row has separate blocks for each. A query attends
to its own block, up to itself, and to earlier blocks, which are whole: a row of S tokens has at most S / size of them,
however it is packed.
"""

import jax
import jax.numpy as jnp
from einops import rearrange
from flax import struct
from jaxtyping import Array, Bool, Float, Int

from saccade.ops.mask import ByPosition, MaskBase, SameSegment
from saccade.ops.padding import padding_last
from saccade.types import KeyIndex, Keys, QueryIndex


@struct.dataclass
class Tokens:
    """Positions and segments of tokens.

    Attributes:
        positions: position within the segment, 0 for its first token.
        segments: segment of each token, 0 for padding.
        packed: False for whole rows of one segment, without padding.
    """

    positions: Int[Array, '#B T']
    segments: Int[Array, '#B T']
    packed: bool = struct.field(pytree_node=False, default=True)

    @classmethod
    def alone(cls, length: int) -> 'Tokens':
        """Return the tokens of rows of one segment, without padding."""
        return cls(jnp.arange(length)[None], jnp.ones((1, length), jnp.int32), packed=False)

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

    def within(self, mask: MaskBase) -> MaskBase:
        """Return a mask of whole rows of these tokens, which counts within each segment."""
        if not self.packed:
            return mask
        return ByPosition(mask, *(self.positions,) * 2, aligned=True) & SameSegment(*(self.segments,) * 2)

    def newest(self, keys: 'Tokens', counts: Int[Array, '#B T'], most: int) -> Int[Array, 'B T most']:
        """Return the indices of the newest `counts` keys up to each query, at most `most`; S for the others.

        The tokens are the newest of the keys: the same rows, or the chunk that was last written to a cache.
        """
        order, real = padding_last(keys.segments), self.segments != 0
        earlier = jnp.sum(keys.segments != 0, axis=-1) - jnp.sum(real, axis=-1)
        own = earlier[:, None] + jnp.cumsum(real, axis=-1) - 1  # place in the order: queries are the newest keys
        back = jnp.arange(most)
        there = (back < counts[..., None]) & real[..., None]
        places = jnp.maximum(own[..., None] - back, 0)
        return jnp.where(there, jax.vmap(lambda order, at: order[at])(order, places), order.shape[-1])


@struct.dataclass
class Runs:
    """Runs of consecutive tokens of one segment, which begin at every stride from its first token.

    Attributes:
        at: index of each token of a run.
        ends: position and segment of a run's last token; segment -1 for missing runs, which no query has.
    """

    at: Int[Array, '#B M X']
    ends: Tokens

    @classmethod
    def of(cls, keys: Tokens, length: int, stride: int) -> 'Runs':
        """Return the runs of `length` tokens of whole rows, or of the slots of a cache, which may have gaps."""
        S, order = keys.segments.shape[-1], padding_last(keys.segments)
        positions, segments = (jnp.take_along_axis(x, order, axis=-1) for x in (keys.positions, keys.segments))
        past = positions + 1 - length
        there = (segments != 0) & (past >= 0) & (past % stride == 0)
        last = jnp.argsort(~there, axis=-1, stable=True)[:, : max((S - length) // stride + 1, 1)]
        places = jnp.maximum(last[..., None] + jnp.arange(1 - length, 1), 0)
        at = jax.vmap(lambda order, places: order[places])(order, places)
        positions, segments = (jnp.take_along_axis(x, last, -1) for x in (positions, jnp.where(there, segments, -1)))
        return cls(at, Tokens(positions, segments))

    def gather(self, x: Keys) -> Float[Array, 'B M X K H']:
        """Return the keys or values of each run."""
        at = jnp.broadcast_to(self.at, (x.shape[0], *self.at.shape[1:]))
        return jax.vmap(lambda tokens, at: tokens[at])(x, at)

    def places(self, index: Int[Array, 'B J T C'], none: int) -> Int[Array, 'B J T Y']:
        """Return the indices of the tokens of these runs; `none` for each of a run M."""
        at = jnp.broadcast_to(self.at, (index.shape[0], *self.at.shape[1:]))
        tokens = jax.vmap(lambda at, index: at.at[index].get(mode='fill', fill_value=none))(at, index)
        return rearrange(tokens, 'B J T C X -> B J T (C X)')

    def number(self) -> Int[Array, '#B M']:
        """Return the number of each run within its segment, for runs that follow each other without overlap."""
        return self.ends.positions // self.at.shape[-1]


@struct.dataclass
class ChosenBlocks:
    """Blocks of keys that each query attends to: its own, up to itself, and the chosen ones before it.

    Attributes:
        queries, keys: tokens of whole rows, or of a chunk and of the slots of a cache.
        whole: whole blocks of the keys.
        index: chosen blocks of each query and group of heads, without duplicates; M for none.
    """

    queries: Tokens
    keys: Tokens
    whole: Runs
    index: Int[Array, 'B J T C']

    @property
    def size(self) -> int:
        """Tokens of a block."""
        return self.whole.at.shape[-1]

    def allowed(self) -> Bool[Array, 'B J T S']:
        """Return the mask of these keys."""
        B, J, T, _ = self.index.shape
        S, M = self.keys.segments.shape[-1], self.whole.at.shape[1]
        at = jnp.where(self.whole.ends.segments[..., None] > 0, self.whole.at, S)
        block = jax.vmap(lambda at: jnp.full(S, M).at[at].set(jnp.arange(M)[:, None], mode='drop'))(at)
        taken = jnp.any(self.index[..., None] == jnp.arange(M + 1), axis=-2).at[..., M].set(False)
        chosen = jnp.take_along_axis(taken, jnp.broadcast_to(block[:, None, None], (B, J, T, S)), axis=-1)
        q_number, k_number = (tokens.positions // self.size for tokens in (self.queries, self.keys))
        own = (q_number[..., None] == k_number[:, None]) & (self.keys.segments != 0)[:, None]
        return chosen | (self.queries.causal(self.keys) & own[:, None])

    def places(self) -> Int[Array, 'B J T Y']:
        """Return the indices of these keys; S for none."""
        (B, _, T, _), S = self.index.shape, self.keys.segments.shape[-1]
        own = self.queries.newest(self.keys, self.queries.positions % self.size + 1, self.size)
        own = jnp.broadcast_to(own[:, None], (B, self.index.shape[1], T, self.size))
        return jnp.concatenate([self.whole.places(self.index, S), own], axis=-1)


@struct.dataclass
class WholeRuns(MaskBase):
    """Mask of whole runs of keys: a query sees a run whose last token is in its segment and not after it.

    Attributes:
        queries: tokens of whole rows, or of a chunk.
        runs: runs of the keys, one after the other without overlap.
        aligned: True if the keys are the same whole rows.
    """

    queries: Tokens
    runs: Runs
    aligned: bool = struct.field(pytree_node=False)

    def __call__(self, q_index: QueryIndex, k_index: KeyIndex) -> Bool[Array, '#B T S']:
        q, k = (
            jax.tree.map(lambda x, at=at: x[:, at], of)
            for of, at in ((self.queries, q_index), (self.runs.ends, k_index))
        )
        return q.causal(k)[:, 0]

    def live(self, q: range, k: range) -> bool:
        """Return True if the block's last query is not before the earliest end of its first run."""
        return super().live(q, k) and (not self.aligned or q[-1] + 1 >= (k[0] + 1) * self.runs.at.shape[-1])


def best_blocks(fit: Float[Array, 'B J T M'], whole: Runs, queries: Tokens, chosen: int) -> Int[Array, 'B J T C']:
    """Return the whole blocks before each query's own with the largest fit, at most `chosen`; M for none."""
    M, size = whole.at.shape[1:]
    same = queries.segments[..., None] == whole.ends.segments[:, None]
    before = same & (queries.positions[..., None] // size > whole.number()[:, None])
    fit = jnp.where(before[:, None], jax.lax.stop_gradient(fit), -jnp.inf)
    best, index = jax.lax.top_k(fit, min(chosen, M))
    return jnp.where(best > -jnp.inf, index, M)
