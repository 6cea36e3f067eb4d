# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Linear attention: keys and values update a state of fixed size, which queries read; no score is made.

    S_t = a_t S_(t-1) + k_t v_t^T,   y_t = q_t^T S_t          with R features a query and key, a_t in (0, 1]

Tokens are taken a chunk at a time: those of a chunk attend to each other through a matrix of decays, and to all earlier
ones through the memory (Sun et al. 2023, equation 7, https://arxiv.org/abs/2307.08621). The output does not depend on
the chunk; a chunk of one token is the recurrence. Every exponent is at most 0, so nothing overflows. A new segment
starts from an empty memory, and segment 0, padding, leaves it as it is. The documents of a row must follow one another.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from einops import rearrange
from flax import struct
from jaxtyping import Array, Bool, Float, Int, PyTree

from saccade.ops import remat
from saccade.ops.mask import SameSegment
from saccade.types import Keys, Mixed, Queries, Values

LOWEST = -1e30  # a level below every other; finite, so that differences of levels are
SMALL_CHUNK = 8  # tokens of a chunk whose pairs are summed one by one; 16 is as fast
FAINTEST = 1e-18  # a sum of weights below this is none: float32 has no number for the square of a smaller one

QueryFeatures = Float[Array, 'B T N R']
KeyFeatures = Float[Array, 'B S K R']
Segments = Int[Array, 'B T']


@struct.dataclass
class Memory:
    """State of linear attention, the memory S; axis 0 of every leaf is the batch.

    Attributes:
        sums: of key features times values, in float32 whatever the tokens are in.
        segment: of the newest token that was not padding; 0 before the first.
    """

    sums: Float[Array, 'B K R H']
    segment: Int[Array, 'B']

    @classmethod
    def empty(cls, batch: int, heads: int, features: int, width: int) -> 'Memory':
        """Return the memory before the first token, with sums [B K R H] of zeros."""
        return cls(jnp.zeros((batch, heads, features, width)), jnp.zeros(batch, jnp.int32))


@struct.dataclass
class LogScaledState(Memory):
    """Log-scaled state: a memory whose sums are to be multiplied by exp(level).

    Attributes:
        level: the highest gain of a key so far.
    """

    level: Float[Array, 'B K']

    @classmethod
    def empty(cls, batch: int, heads: int, features: int, width: int) -> 'LogScaledState':
        """Return the state before the first token, with sums of zeros and the lowest level."""
        memory = Memory.empty(batch, heads, features, width)
        return cls(memory.sums, memory.segment, jnp.full((batch, heads), LOWEST))


@struct.dataclass
class ChunkDecay:
    """Chunk decay: the factors by which contributions to the memory have decayed within a chunk.

    Attributes:
        between: of each token's contribution, at each token.
        since: of the memory before the chunk, at each token.
        until: of each token's contribution, at the end of the chunk.
        kept: of the memory before the chunk, at its end.
    """

    between: Float[Array, 'B #K T T']
    since: Float[Array, 'B #K T']
    until: Float[Array, 'B #K T']
    kept: Float[Array, 'B #K']

    @classmethod
    def of(cls, between: Array, since: Array, same: Bool[Array, 'B T T'], old: Bool[Array, 'B T']) -> 'ChunkDecay':
        """Return the decays from their logarithms; those of excluded pairs and tokens are not used.

        Args:
            between: [B #K T T].
            since: [B #K T].
            same: whether both are of one segment and j is not after i.
            old: whether the token is of the segment that the memory is of.
        """
        between, since = _exp(between, same[:, None]), _exp(since, old[:, None])
        return cls(between, since, between[..., -1, :], since[..., -1])


def elu_plus_one(x: Float[Array, '...']) -> Float[Array, '...']:
    """elu(x) + 1, positive for every x (Katharopoulos et al. 2020, equation 7)."""
    return jnp.where(x > 0, x + 1.0, jnp.exp(jnp.minimum(x, 0.0)))


def within_one(x: Float[Array, '*B R']) -> tuple[Float[Array, '*B R'], Float[Array, '*B']]:
    """Return features scaled so that the largest of each vector is 1, and the logarithm of the divisor."""
    largest = jax.lax.stop_gradient(jnp.maximum(x.max(axis=-1, keepdims=True), jnp.finfo(x.dtype).tiny))
    return x / largest, jnp.log(largest[..., 0])


def attend(
    q: QueryFeatures,
    k: KeyFeatures,
    gain: Float[Array, 'B S K'],
    v: Values,
    segments: Segments,
    state: LogScaledState,
    chunk: int,
) -> tuple[Mixed, LogScaledState]:
    """Attend causally, with weights exp(gain) q.k that sum to one; return the output and the state after it.

    Args:
        q, k, gain: a key's features are exp(gain) k, which itself may not be representable. The largest feature of
            each query and key is 1, or all are 0.
        chunk: tokens taken at once.
    """
    row = Row.of(segments, state.segment, chunk)
    inputs = (row.only(q), row.only(k), row.only(_with_ones(v, k.shape[-2])), row.only(gain, LOWEST))
    (sums, level), y = row.scan(_advance_levelled, (state.sums, state.level), *inputs)
    return normalised(y).astype(v.dtype), LogScaledState(sums, row.newest, level)


def attend_all(
    q: QueryFeatures,
    k: KeyFeatures,
    gain: Float[Array, 'B S K'],
    v: Values,
    segments: SameSegment | None,
    chunk: int,
) -> Mixed:
    """Attend to all keys of a query's segment, in any order; to all keys if there are no segments."""
    if segments is None:
        k = k * jnp.exp(gain - gain.max(axis=1, keepdims=True))[..., None]
        sums = jnp.einsum('BSKR,BSKH->BKRH', k, _with_ones(v, k.shape[-2]))
        y = jnp.einsum('BTKGR,BKRH->BTKGH', rearrange(q, 'B T (K G) R -> B T K G R', K=k.shape[-2]), sums)
        return normalised(rearrange(y, 'B T K G H -> B T (K G) H')).astype(v.dtype)
    return _attend_sorted(q, k, gain, v, segments, chunk)


def _attend_sorted(q: Array, k: Array, gain: Array, v: Array, segments: SameSegment, chunk: int) -> Mixed:
    """In one row of both, sorted by segment and keys first, a causal query comes after all keys that it may read."""
    T, S = q.shape[1], k.shape[1]
    row = jnp.concatenate([segments.k_segments, segments.q_segments], axis=1)
    order = jnp.argsort(row, axis=1, stable=True)

    def take(x: Array, fill: float, before: int, after: int) -> Array:
        ends = ((0, 0), (before, after), *[(0, 0)] * (x.ndim - 2))
        return _gather(jnp.pad(x, ends, constant_values=fill), order)

    q, k, gain, values = take(q, 0.0, S, 0), take(k, 0.0, 0, T), take(gain, LOWEST, 0, T), take(v, 0.0, 0, T)
    state = LogScaledState.empty(k.shape[0], k.shape[2], k.shape[3], v.shape[-1] + 1)
    y, _ = attend(q, k, gain, values, _gather(row, order), state, chunk)
    return _gather(y, jnp.argsort(order, axis=1)[:, S:])


def retain(
    q: QueryFeatures,
    k: KeyFeatures,
    v: Keys,
    log_decay: Float[Array, 'B T K'],
    segments: Segments,
    state: Memory,
    chunk: int,
) -> tuple[Queries, Memory]:
    """Return y_t = q_t^T S_t, not normalised, in float32, and the state after.

    Args:
        log_decay: log a_t, at most 0.
        chunk: tokens taken at once.
    """
    row = Row.of(segments, state.segment, chunk)
    sums, y = row.scan(_advance_fading, state.sums, *(row.only(x) for x in (q, k, v, log_decay)))
    return y, Memory(sums, row.newest)


@struct.dataclass
class Row:
    """Tokens of rows cut into whole chunks, numbered by the segments that follow one another.

    Attributes:
        run: 0 for tokens of the segment that the state is of, then one more for each new segment.
        real: True for a token, False for padding.
        newest: the segment of the newest token that is not padding.
        length: tokens without those that fill the last chunk.
        chunk: tokens in a chunk.
    """

    run: Int[Array, 'B T']
    real: Bool[Array, 'B T']
    newest: Int[Array, 'B']
    length: int = struct.field(pytree_node=False)
    chunk: int = struct.field(pytree_node=False)

    @classmethod
    def of(cls, segments: Segments, before: Int[Array, 'B'], chunk: int) -> 'Row':
        """Return the row of these segments.

        Args:
            before: the segment that the state is of.
            chunk: the longest chunk, in tokens.
        """
        T = segments.shape[1]
        chunk = min(chunk, T)
        segments = jnp.pad(segments, ((0, 0), (0, -T % chunk)))
        real = segments != 0
        last_real = jax.lax.cummax(jnp.where(real, jnp.arange(1, real.shape[1] + 1), 0), axis=1)
        filled = _gather(jnp.concatenate([before[:, None], segments], axis=1), last_real)
        changes = jnp.diff(filled, axis=1, prepend=before[:, None]) != 0
        return cls(jnp.cumsum(changes, axis=1), real, filled[:, -1], T, chunk)

    def only(self, x: Float[Array, 'B T ...'], fill: float = 0.0) -> Float[Array, 'B _ ...']:
        """Return x in float32, padded to whole chunks, with `fill` for padding."""
        later = [1] * (x.ndim - 2)
        x = jnp.pad(x.astype(jnp.float32), ((0, 0), (0, self.run.shape[1] - x.shape[1]), *[(0, 0) for _ in later]))
        return jnp.where(self.real.reshape(*self.real.shape, *later), x, fill)

    def scan(self, advance: Callable[..., Any], state: PyTree, *inputs: Array) -> tuple[PyTree, Queries]:
        """Fold `advance(state, same, old, *inputs)` over the chunks; return the state after, and y of all tokens.

        The backward pass keeps the state before each chunk, and recomputes the rest.
        """
        run = self._chunks(self.run)
        before = jnp.concatenate([jnp.zeros_like(run[:1, :, -1]), run[:-1, :, -1]])
        earlier = jnp.tri(self.chunk, dtype=bool)

        @functools.partial(remat.checkpoint, prevent_cse=False)
        def visit(state: PyTree, chunk: PyTree) -> tuple[PyTree, Array]:
            run, before, parts = chunk
            same = earlier & (run[:, :, None] == run[:, None, :])
            return advance(state, same, run == before[:, None], *parts)

        state, y = jax.lax.scan(visit, state, (run, before, [self._chunks(x) for x in inputs]))
        return state, rearrange(y, 'C B T N H -> B (C T) N H')[:, : self.length]

    def _chunks(self, x: Array) -> Array:
        return rearrange(x, 'B (C T) ... -> C B T ...', T=self.chunk)


def chunk_decay(log_decay: Float[Array, 'B T K'], same: Bool[Array, 'B T T'], old: Bool[Array, 'B T']) -> ChunkDecay:
    """Return the decays of a chunk in which token t multiplies the memory by exp(log_decay_t).

    Each pair has a sum of its own: as a difference of running totals it would lose what large totals round away.
    """
    log_decay = jnp.swapaxes(log_decay, 1, 2)
    return ChunkDecay.of(_sums_between(log_decay), jnp.cumsum(log_decay, axis=-1), same, old)


def _sums_between(x: Float[Array, 'B K T']) -> Float[Array, 'B K T T']:
    """[i, j], for i not before j: the sum of x after j up to i, of which nothing is subtracted.

    It is made of sums within smaller chunks, as in the secondary chunking of Yang et al. 2023, section 4,
    https://arxiv.org/abs/2312.06635: j's chunk after j, the whole chunks between, i's chunk up to i.
    """
    T = x.shape[-1]
    size = min(SMALL_CHUNK, T)
    x = rearrange(jnp.pad(x, ((0, 0), (0, 0), (0, -T % size))), 'B K (C T) -> B K C T', T=size)
    within, until = _sums_of_pairs(x), jnp.cumsum(x, axis=-1)
    whole = jnp.roll(_sums_of_pairs(until[..., -1]), 1, axis=-2)
    across = until[..., None, None] + whole[..., :, None, :, None] + within[..., None, None, :, -1, :]
    same = jnp.eye(x.shape[-2], dtype=bool)[:, None, :, None]
    sums = jnp.where(same, within[..., :, :, None, :], across)
    return rearrange(sums, 'B K C1 T1 C2 T2 -> B K (C1 T1) (C2 T2)')[..., :T, :T]


def _sums_of_pairs(x: Float[Array, '*B T']) -> Float[Array, '*B T T']:
    """[i, j]: the sum of x after j up to i (`segsum` of Dao, Gu 2024, listing 1, https://arxiv.org/abs/2405.21060)."""
    later = jnp.tri(x.shape[-1], k=-1, dtype=bool)
    return jnp.cumsum(jnp.where(later, x[..., :, None], 0.0), axis=-2)


def read_and_write(sums: Array, left: ChunkDecay, q: Array, k: Array, v: Array) -> tuple[Array, Queries]:
    """Return the memory with a chunk added, and the output of each of its tokens, its own value included."""
    q = rearrange(q, 'B T (K G) R -> B T K G R', K=k.shape[-2])
    scores = jnp.einsum('BTKGR,BSKR->BKGTS', q, k) * left.between[:, :, None]
    old = jnp.einsum('BTKGR,BKRH->BTKGH', q, sums) * per_token(left.since)[..., None]
    y = old + jnp.einsum('BKGTS,BSKH->BTKGH', scores, v)
    sums = left.kept[..., None, None] * sums + jnp.einsum('BSKR,BSKH->BKRH', k * per_token(left.until), v)
    return sums, rearrange(y, 'B T K G H -> B T (K G) H')


def per_token(x: Float[Array, 'B K T']) -> Float[Array, 'B T K 1']:
    """Swap heads and tokens of a factor, and add an axis for the features."""
    return jnp.swapaxes(x, 1, 2)[..., None]


def normalised(y: Float[Array, 'B T N U']) -> Queries:
    """Return y divided by its last feature, the sum of the weights; 0 where that is 0."""
    total = y[..., -1:]
    some = total > FAINTEST
    return jnp.where(some, y[..., :-1] / jnp.where(some, total, 1.0), 0.0)


def _advance_fading(sums: Array, same: Array, old: Array, q: Array, k: Array, v: Array, log_decay: Array) -> Any:
    return read_and_write(sums, chunk_decay(log_decay, same, old), q, k, v)


def _advance_levelled(state: Any, same: Array, old: Array, q: Array, k: Array, v: Array, gain: Array) -> Any:
    sums, level = state
    gain = jnp.swapaxes(gain, 1, 2)
    highest = jnp.where(same[:, None], gain[..., None, :], LOWEST).max(axis=-1)
    highest = jnp.maximum(highest, jnp.where(old[:, None], level[..., None], LOWEST))
    between = gain[..., None, :] - highest[..., :, None]
    sums, y = read_and_write(sums, ChunkDecay.of(between, level[..., None] - highest, same, old), q, k, v)
    return (sums, highest[..., -1]), y


def _exp(x: Array, where: Array) -> Array:
    return jnp.exp(jnp.where(where, x, -jnp.inf))


def _with_ones(v: Values, heads: int) -> Float[Array, 'B S K U']:
    """The values of each key head, which may share them, and a feature more that counts."""
    v = jnp.repeat(v, heads // v.shape[-2], axis=-2)
    return jnp.pad(v.astype(jnp.float32), (*[(0, 0)] * 3, (0, 1)), constant_values=1.0)


def _gather(x: Array, index: Int[Array, 'B T']) -> Array:
    """Take along axis 1, the same for all later axes."""
    return jnp.take_along_axis(x, index.reshape(*index.shape, *[1] * (x.ndim - 2)), axis=1)
