# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Log-linear attention: linear attention with a memory for each scale of distance, weighted by each query.

    y_t = sum over s <= t of  w_t[level(t, s)] (decay from s to t) (q_t.k_s) v_s,   level(t, s) = bit_length(t xor s)

Guo et al. 2025, "Log-Linear Attention", section 3, https://arxiv.org/abs/2506.04761. t and s are places in their
document, from 0. The tokens before t fall into one block for each set bit of t, as in a Fenwick tree: the block of bit
j has 2^j tokens, level j + 1 and a memory; level 0 is the token itself. After t, the blocks of its trailing ones and t
become one. Blocks only merge, so all tokens of a block have one level for every later query: a chunk reads the memories
from before it, and its own tokens through a matrix, wherever in its document it begins. Documents have at most 2^J
tokens, with J memories and J + 1 levels. With weights of 1 it is linear attention (`ops.linear_attention`). Cost:
T (J + C) N R H for chunks of C.
"""

from typing import Any

import jax
import jax.numpy as jnp
from flax import struct
from jaxtyping import Array, Float, Int

from saccade.ops.linear_attention import Memory, Row, Segments, chunk_decay
from saccade.types import Queries


@struct.dataclass
class LevelState(Memory):
    """State of log-linear attention; axis 0 of every leaf is the batch.

    Attributes:
        sums: sums of keys times values of each block, by the bit of its size; 0 for an absent block.
        count: tokens of the newest document.
    """

    sums: Float[Array, 'B J N R H']
    count: Int[Array, 'B']

    @classmethod
    def empty(cls, batch: int, heads: int, features: int, width: int, blocks: int) -> 'LevelState':
        """Return the state before the first token; blocks, J."""
        sums, count = jnp.zeros((batch, blocks, heads, features, width)), jnp.zeros(batch, jnp.int32)
        return cls(sums, jnp.zeros_like(count), count)


def retain_by_level(
    q: Float[Array, 'B T N R'],
    k: Float[Array, 'B T N R'],
    v: Queries,
    log_decay: Float[Array, 'B T N'] | Float[Array, 'B T N R'],
    weights: Float[Array, 'B T N _'],
    segments: Segments,
    state: LevelState,
    chunk: int,
) -> tuple[Queries, LevelState]:
    """Return y of each token, in float32, and the new state.

    Args:
        log_decay: log of the decay at each token, at most 0, per head, or per feature of a key.
        weights: w, of each of the J + 1 levels.
        chunk: tokens per chunk. Does not change the output.
    """
    row = Row.of(segments, state.segment, chunk)
    places = row.places(state.count)
    inputs = (row.only(x) for x in (q, k, v, log_decay, weights))
    (sums, count), y = row.scan(_advance, (state.sums, state.count), *inputs, places)
    return y, LevelState(sums, row.newest, count)


def blocks_of(length: int) -> int:
    """Return J, the number of blocks for documents of at most this number of tokens."""
    return max((length - 1).bit_length(), 1)


def _advance(
    state: Any, same: Array, old: Array, q: Array, k: Array, v: Array, log_decay: Array, weights: Array, places: Array
) -> tuple[Any, Array]:
    sums, count = state
    bits = jnp.arange(sums.shape[1], dtype=jnp.int32)
    starts = (count[:, None] >> (bits + 1)) << (bits + 1)  # first place of each block
    decay = chunk_decay(log_decay, same, old)

    def weights_at(others: Int[Array, 'B S']) -> Float[Array, 'B T N S']:
        """Return the weight of each token's level of other places, or of the blocks that begin there."""
        return jnp.take_along_axis(
            weights, _level(places[:, :, None], others[:, None])[:, :, None], axis=-1, mode='clip'
        )

    products = decay.products(q[..., None, :], k)[:, :, 0]
    y = jnp.einsum('BNTS,BTNS,BSNH->BTNH', products, weights_at(places), v)
    y = y + jnp.einsum('BTNR,BTNJ,BJNRH->BTNH', q * decay.since, weights_at(starts), sums)

    after = places[:, -1] + 1

    def blocks_after(places: Int[Array, 'B S']) -> Float[Array, 'B S J']:
        """Return one-hot vectors of the block that each place is in after the chunk."""
        return jax.nn.one_hot(_level(places, after[:, None]) - 1, len(bits), dtype=v.dtype)

    merged = jnp.einsum('BINRH,BIJ->BJNRH', decay.kept[:, None] * sums, blocks_after(starts))
    added = jnp.einsum('BTNR,BTJ,BTNH->BJNRH', k * decay.until, blocks_after(places), v)
    return (merged + added, after), y


def _level(t: Int[Array, '...'], s: Int[Array, '...']) -> Int[Array, '...']:
    return 32 - jax.lax.clz(t ^ s)  # of int32
