# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Linear attention: keys and values update a fixed-size state, which queries read, without scores.

    S_t = a_t S_(t-1) + k_t v_t^T,   y_t = q_t^T S_t          with R features per query and key, a_t from 0 to 1

a_t is one number per head, or diag(a_t), one per feature of a key (Yang et al. 2023, section 4,
https://arxiv.org/abs/2312.06635). Tokens are processed in chunks: tokens of a chunk attend to each other through a
matrix of decays, and to all earlier ones through the memory (Sun et al. 2023, equation 7,
https://arxiv.org/abs/2307.08621). The output does not depend on the chunk size; a chunk of one token is the recurrence.
Every exponent is at most 0, so nothing overflows. A new segment starts from an empty memory, and segment 0, padding,
leaves it unchanged. The documents of a row must follow one another.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from einops import rearrange
from flax import struct
from jaxtyping import Array, Bool, Float, Int, PyTree

from saccade.ops.mask import SameSegment
from saccade.types import Keys, Mixed, Queries, Values

__all__ = ['elu_plus_one']

LOWEST = -1e30  # minimum level; finite, so that differences of levels are finite
SMALL_CHUNK = 8  # tokens per chunk whose pairs are summed directly; 16 is as fast
FAINTEST = 1e-18  # sums of weights below this are zero: the square of a smaller one underflows in float32

QueryFeatures = Float[Array, 'B T N R']
KeyFeatures = Float[Array, 'B S K R']
Segments = Int[Array, 'B T']


@struct.dataclass
class Memory:
    """State of linear attention, the memory S; axis 0 of every leaf is the batch.

    Attributes:
        sums: sums of key features times values, in float32 for every dtype of the tokens.
        segment: segment of the newest token that was not padding; 0 before the first.
    """

    sums: Float[Array, 'B K R H']
    segment: Int[Array, 'B']

    @classmethod
    def empty(cls, batch: int, heads: int, features: int, width: int) -> 'Memory':
        """Return the memory before the first token, with sums [B K R H] of zeros."""
        return cls(jnp.zeros((batch, heads, features, width)), jnp.zeros(batch, jnp.int32))


@struct.dataclass
class LogScaledState(Memory):
    """Log-scaled state: a memory whose actual sums are sums * exp(level).

    Attributes:
        level: maximum gain of the keys so far.
    """

    level: Float[Array, 'B K']

    @classmethod
    def empty(cls, batch: int, heads: int, features: int, width: int) -> 'LogScaledState':
        """Return the state before the first token, with sums of zeros and the lowest level."""
        memory = Memory.empty(batch, heads, features, width)
        return cls(memory.sums, memory.segment, jnp.full((batch, heads), LOWEST))


@struct.dataclass
class ChunkDecay:
    """Decay factors of contributions to the memory within a chunk.

    The feature axis has size 1 if all features R of a head share a decay.

    Attributes:
        since: decay of the memory before the chunk, at each token.
        until: decay of each token's contribution, at the end of the chunk.
        kept: decay of the memory before the chunk, at its end.
    """

    since: Float[Array, 'B T #K #R']
    until: Float[Array, 'B T #K #R']
    kept: Float[Array, 'B #K #R 1']

    def products(self, q: Float[Array, 'B T K G R'], k: Float[Array, 'B T K R']) -> Float[Array, 'B K G T T']:
        """Return the decayed products of queries and keys of the chunk; 0 for excluded pairs."""
        raise NotImplementedError


@struct.dataclass
class HeadDecay(ChunkDecay):
    """Decay per head. Attributes: the attributes of ChunkDecay; between, decays between tokens."""

    between: Float[Array, 'B #K T T']

    @classmethod
    def of(cls, between: Array, since: Array, same: Bool[Array, 'B T T'], old: Bool[Array, 'B T']) -> 'HeadDecay':
        """Return the decays from their logarithms; values of excluded pairs and tokens are ignored.

        Args:
            between: log decays between tokens [B #K T T].
            since: log decays since the start of the chunk [B #K T].
            same: True if both tokens are in one segment and j is not after i.
            old: True if the token is in the segment of the memory.
        """
        between, since = _exp(between, same[:, None]), _exp(since, old[:, None])
        return cls(_per_token(since), _per_token(between[..., -1, :]), since[..., -1, None, None], between)

    def products(self, q: Float[Array, 'B T K G R'], k: Float[Array, 'B T K R']) -> Float[Array, 'B K G T T']:
        return jnp.einsum('BTKGR,BSKR->BKGTS', q, k) * self.between[:, :, None]


@struct.dataclass
class ChannelDecay(ChunkDecay):
    """Decay per feature, with sums of log decays in small chunks of t tokens, C per chunk.

    Attributes: the attributes of ChunkDecay; same, mask of included pairs; within, sums between tokens of a small
    chunk; before, from the start of each small chunk to each of its tokens; across, from each token to the start of
    each later small chunk.
    """

    same: Bool[Array, 'B T T']
    within: Float[Array, 'B K R C t t']
    before: Float[Array, 'B K R C t']
    across: Float[Array, 'B K R C C t']

    @classmethod
    def of(
        cls, log_decay: Float[Array, 'B T K R'], same: Bool[Array, 'B T T'], old: Bool[Array, 'B T']
    ) -> 'ChannelDecay':
        """Return the decays of tokens that multiply each feature of the memory by exp(log_decay)."""
        x = rearrange(log_decay, 'B T K R -> B K R T')
        within, before, across = _sums_in_small_chunks(x)
        since = _exp(jnp.cumsum(log_decay, axis=1), old[..., None, None])
        later = jnp.pad(log_decay[:, 1:], ((0, 0), (0, 1), (0, 0), (0, 0)))
        until = _exp(jax.lax.cumsum(later, axis=1, reverse=True), same[:, -1, :, None, None])
        return cls(since, until, since[:, -1, ..., None], same, within, before, across)

    def products(self, q: Float[Array, 'B T K G R'], k: Float[Array, 'B T K R']) -> Float[Array, 'B K G T T']:
        T, size = q.shape[1], self.before.shape[-1]
        q, k = (jnp.pad(x, ((0, 0), (0, -T % size), *[(0, 0)] * (x.ndim - 2))) for x in (q, k))
        q = rearrange(q, 'B (C t) K G R -> B K C t G R', t=size)
        k = rearrange(k, 'B (C t) K R -> B K C t R', t=size)
        within = jnp.einsum('BKCtGR,BKCsR,BKRCts->BKGCts', q, k, jnp.exp(self.within))
        q = q * rearrange(jnp.exp(self.before), 'B K R C t -> B K C t 1 R')
        across = jnp.einsum('BKCtGR,BKDsR,BKRCDs->BKGCtDs', q, k, jnp.exp(self.across))
        own = jnp.eye(q.shape[2], dtype=bool)[:, None, :, None]
        products = jnp.where(own, within[..., None, :], across)
        products = rearrange(products, 'B K G C t D s -> B K G (C t) (D s)')[..., :T, :T]
        return jnp.where(self.same[:, None, None], products, 0.0)


def elu_plus_one(x: Float[Array, '...'], /) -> Float[Array, '...']:
    """Return elu(x) + 1, positive for every x (Katharopoulos et al. 2020, equation 7)."""
    return jnp.where(x > 0, x + 1.0, jnp.exp(jnp.minimum(x, 0.0)))


def within_one(x: Float[Array, '*B R']) -> tuple[Float[Array, '*B R'], Float[Array, '*B']]:
    """Scale the features of each vector to a maximum of 1; return them and the log of the divisor."""
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
    """Attend causally, with weights exp(gain) q.k that sum to one; return the output and the new state.

    Args:
        q, k, gain: a key's features are exp(gain) k, which may overflow. The largest feature of each query and key is
            1, or all are 0.
        chunk: tokens per chunk.
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
    """Attend causally over one row of keys and queries, sorted by segment with keys first."""
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
    log_decay: Float[Array, 'B T K'] | Float[Array, 'B T K R'],
    segments: Segments,
    state: Memory,
    chunk: int,
) -> tuple[Queries, Memory]:
    """Return y_t = q_t^T S_t, unnormalised, in float32, and the new state.

    Args:
        log_decay: log a_t, at most 0, per head, or per feature of a key.
        chunk: tokens per chunk.
    """
    row = Row.of(segments, state.segment, chunk)
    sums, y = row.scan(_advance_fading, state.sums, *(row.only(x) for x in (q, k, v, log_decay)))
    return y, Memory(sums, row.newest)


def exponential_gates(
    q: QueryFeatures,
    k: KeyFeatures,
    v: Values,
    gain: Float[Array, 'B T K'],
    log_decay: Float[Array, 'B T K'],
    segments: Segments,
    state: LogScaledState,
    chunk: int,
) -> tuple[Mixed, LogScaledState]:
    """Return q_t^T S_t / max(|q_t^T n_t|, 1), in float32, and the new state; S adds exp(gain) k v^T, n exp(gain) k.

    The state is scaled by its decayed maximum gain so far, so gains of any size are exact (Beck et al. 2024,
    equations 15 and 19 to 27, https://arxiv.org/abs/2405.04517).

    Args:
        gain: logarithm of the input gate.
        log_decay: logarithm of the forget gate, at most 0.
        chunk: tokens per chunk.
    """
    row = Row.of(segments, state.segment, chunk)
    inputs = (row.only(q), row.only(k), row.only(_with_ones(v, k.shape[-2])), row.only(gain, LOWEST))
    (sums, level), y = row.scan(_advance_gated, (state.sums, state.level), *inputs, row.only(log_decay))
    return y, LogScaledState(sums, row.newest, level)


@struct.dataclass
class Row:
    """Tokens of rows split into whole chunks, with consecutive segment numbers.

    Attributes:
        run: 0 for tokens of the state's segment, then one more for each new segment.
        real: True for a token, False for padding.
        newest: segment of the newest token that is not padding.
        length: number of tokens without the padding of the last chunk.
        chunk: tokens per chunk.
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
            before: segment of the state.
            chunk: maximum chunk length, in tokens.
        """
        T = segments.shape[1]
        chunk = min(chunk, T)
        segments = jnp.pad(segments, ((0, 0), (0, -T % chunk)))
        real = segments != 0
        last_real = jax.lax.cummax(jnp.where(real, jnp.arange(1, real.shape[1] + 1), 0), axis=1)
        filled = _gather(jnp.concatenate([before[:, None], segments], axis=1), last_real)
        changes = jnp.diff(filled, axis=1, prepend=before[:, None]) != 0
        return cls(jnp.cumsum(changes, axis=1), real, filled[:, -1], T, chunk)

    def places(self, count: Int[Array, 'B']) -> Int[Array, 'B T']:
        """Return the place of each token in its document, from 0; that of the last token before it for padding.

        Args:
            count: number of tokens of the state's document so far.
        """
        tokens = jnp.cumsum(self.real, axis=1, dtype=jnp.int32)
        starts = jnp.diff(self.run, axis=1, prepend=0) != 0
        return tokens - 1 - jax.lax.cummax(jnp.where(starts, tokens - 1, -count[:, None]), axis=1)

    def only(self, x: Float[Array, 'B T ...'], fill: float = 0.0) -> Float[Array, 'B _ ...']:
        """Return x, padded to whole chunks with `fill`; in float32, or in float64 if x is."""
        later = [1] * (x.ndim - 2)
        x = x.astype(jnp.promote_types(x.dtype, jnp.float32))
        x = jnp.pad(x, ((0, 0), (0, self.run.shape[1] - x.shape[1]), *[(0, 0) for _ in later]))
        return jnp.where(self.real.reshape(*self.real.shape, *later), x, fill)

    def scan(self, advance: Callable[..., Any], state: PyTree, *inputs: Array) -> tuple[PyTree, Queries]:
        """Scan `advance(state, same, old, *inputs)` over the chunks; return the new state, and y of all tokens.

        The forward pass saves the state before each chunk, and the backward pass recomputes the rest.
        """
        run = self._chunks(self.run)
        before = jnp.concatenate([jnp.zeros_like(run[:1, :, -1]), run[:-1, :, -1]])
        earlier = jnp.tri(self.chunk, dtype=bool)

        @functools.partial(jax.checkpoint, prevent_cse=False)
        def visit(state: PyTree, chunk: PyTree) -> tuple[PyTree, Array]:
            run, before, parts = chunk
            same = earlier & (run[:, :, None] == run[:, None, :])
            return advance(state, same, run == before[:, None], *parts)

        state, y = jax.lax.scan(visit, state, (run, before, [self._chunks(x) for x in inputs]))
        return state, rearrange(y, 'C B T N H -> B (C T) N H')[:, : self.length]

    def _chunks(self, x: Array) -> Array:
        return rearrange(x, 'B (C T) ... -> C B T ...', T=self.chunk)


def chunk_decay(
    log_decay: Float[Array, 'B T K'] | Float[Array, 'B T K R'], same: Bool[Array, 'B T T'], old: Bool[Array, 'B T']
) -> ChunkDecay:
    """Return the decays of a chunk in which token t multiplies the memory by exp(log_decay_t), per head or feature.

    Each pair has a separate sum: a difference of cumulative sums would lose precision. No exponent is above 0, and
    nothing is divided by a decay, so any decay from 1 to 0 is exact.
    """
    if log_decay.ndim == 4:
        return ChannelDecay.of(log_decay, same, old)
    log_decay = jnp.swapaxes(log_decay, 1, 2)
    return HeadDecay.of(_sums_between(log_decay), jnp.cumsum(log_decay, axis=-1), same, old)


def _sums_between(x: Float[Array, 'B K T']) -> Float[Array, 'B K T T']:
    """Return [i, j], for i >= j: the sum of x after j up to i, computed without subtraction."""
    within, before, across = _sums_in_small_chunks(x)
    own = jnp.eye(before.shape[-2], dtype=bool)[:, None, :, None]
    sums = jnp.where(own, within[..., None, :], before[..., None, None] + across[..., :, None, :, :])
    return rearrange(sums, 'B K C t D s -> B K (C t) (D s)')[..., : x.shape[-1], : x.shape[-1]]


def _sums_in_small_chunks(x: Float[Array, '*B T']) -> tuple[Array, Array, Array]:
    """Return sums of x after j up to i: between tokens of one small chunk [*B C t t], from the start of a small chunk
    [*B C t], and from each token to the start of each later small chunk [*B C C t].

    The secondary chunking of Yang et al. 2023, section 4, https://arxiv.org/abs/2312.06635.
    """
    T = x.shape[-1]
    size = min(SMALL_CHUNK, T)
    x = rearrange(jnp.pad(x, (*[(0, 0)] * (x.ndim - 1), (0, -T % size))), '... (C t) -> ... C t', t=size)
    within, before = _sums_of_pairs(x), jnp.cumsum(x, axis=-1)
    whole = jnp.roll(_sums_of_pairs(before[..., -1]), 1, axis=-2)
    return within, before, whole[..., None] + within[..., None, :, -1, :]


def _sums_of_pairs(x: Float[Array, '*B T']) -> Float[Array, '*B T T']:
    """Return [i, j]: the sum of x after j up to i (`segsum` of Dao, Gu 2024, listing 1, https://arxiv.org/abs/2405.21060)."""
    later = jnp.tri(x.shape[-1], k=-1, dtype=bool)
    return jnp.cumsum(jnp.where(later, x[..., :, None], 0.0), axis=-2)


def read_and_write(sums: Array, left: ChunkDecay, q: Array, k: Array, v: Array) -> tuple[Array, Queries]:
    """Return the memory with a chunk added, and the output of each of its tokens, including its own value."""
    q = rearrange(q, 'B T (K G) R -> B T K G R', K=k.shape[-2])
    old = jnp.einsum('BTKGR,BKRH->BTKGH', q * left.since[..., None, :], sums)
    y = old + jnp.einsum('BKGTS,BSKH->BTKGH', left.products(q, k), v)
    sums = left.kept * sums + jnp.einsum('BSKR,BSKH->BKRH', k * left.until, v)
    return sums, rearrange(y, 'B T K G H -> B T (K G) H')


def _per_token(x: Float[Array, 'B K T']) -> Float[Array, 'B T K 1']:
    """Swap heads and tokens of a factor, and add an axis for the features."""
    return jnp.swapaxes(x, 1, 2)[..., None]


def normalised(y: Float[Array, 'B T N U']) -> Queries:
    """Return y divided by its last feature, the sum of the weights; 0 if the sum is 0."""
    total = y[..., -1:]
    some = total > FAINTEST
    return jnp.where(some, y[..., :-1] / jnp.where(some, total, 1.0), 0.0)


def _advance_fading(sums: Array, same: Array, old: Array, q: Array, k: Array, v: Array, log_decay: Array) -> Any:
    return read_and_write(sums, chunk_decay(log_decay, same, old), q, k, v)


def _advance_levelled(state: Any, same: Array, old: Array, q: Array, k: Array, v: Array, gain: Array) -> Any:
    gain = jnp.swapaxes(gain, 1, 2)
    left, highest = _levelled(gain[..., None, :], state[1][..., None], same, old, LOWEST)
    sums, y = read_and_write(state[0], left, q, k, v)
    return (sums, highest[..., -1]), y


def _advance_gated(
    state: Any, same: Array, old: Array, q: Array, k: Array, v: Array, gain: Array, log_decay: Array
) -> Any:
    gain, log_decay = jnp.swapaxes(gain, 1, 2), jnp.swapaxes(log_decay, 1, 2)
    between = gain[..., None, :] + _sums_between(log_decay)
    since = state[1][..., None] + jnp.cumsum(log_decay, axis=-1)
    # A level below 0 would scale up the 1 of the denominator without bound.
    left, highest = _levelled(between, since, same, old, 0.0)
    sums, y = read_and_write(state[0], left, q, k, v)
    floor = jnp.maximum(jnp.exp(-highest), FAINTEST)
    floor = jnp.repeat(_per_token(floor), q.shape[-2] // k.shape[-2], axis=-2)
    return (sums, highest[..., -1]), y[..., :-1] / jnp.maximum(jnp.abs(y[..., -1:]), floor)


def _levelled(between: Array, since: Array, same: Array, old: Array, least: float) -> tuple[HeadDecay, Array]:
    """Return the decays, with each token's maximum [B K T] subtracted from the log-decays, and the maximum."""
    highest = jnp.where(same[:, None], between, LOWEST).max(axis=-1)
    highest = jnp.maximum(jnp.maximum(highest, jnp.where(old[:, None], since, LOWEST)), least)
    return HeadDecay.of(between - highest[..., :, None], since - highest, same, old), highest


def _exp(x: Array, where: Array) -> Array:
    return jnp.exp(jnp.where(where, x, -jnp.inf))


def _with_ones(v: Values, heads: int) -> Float[Array, 'B S K U']:
    """Return the values of each key head, which may be shared, with an appended feature of ones."""
    v = jnp.repeat(v, heads // v.shape[-2], axis=-2)
    return jnp.pad(v.astype(jnp.float32), (*[(0, 0)] * 3, (0, 1)), constant_values=1.0)


def _gather(x: Array, index: Int[Array, 'B T']) -> Array:
    """Take along axis 1, with the same index for all later axes."""
    return jnp.take_along_axis(x, index.reshape(*index.shape, *[1] * (x.ndim - 2)), axis=1)
