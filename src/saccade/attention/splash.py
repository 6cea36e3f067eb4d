# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Splash attention: JAX's own Pallas kernel for TPUs, a FlashAttention that skips masked blocks.

    m, l, y  <-  running maximum, normaliser and output of  softmax(cap tanh(scale Q K^T / cap), masked) V

JAX authors 2023, https://github.com/jax-ml/jax/tree/main/jax/experimental/pallas/ops/tpu/splash_attention, after Dao
et al. 2022, algorithm 1, https://arxiv.org/abs/2205.14135
Ours passes the band of the mask (causal, window, full), segments, grouped heads, one softcap, and a sink. Cost:
B N T S in time (without masked blocks), B N T H in memory. It does not support attention dropout, score terms other
than a softcap, or other masks, and returns no weights. Decoding uses the KV cache as in every kernel.
"""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from saccade.attention.base import CachingKernel, require_whole_rows
from saccade.ops import blockwise
from saccade.ops.band import Band, band_of
from saccade.ops.devices import on_each, platform
from saccade.ops.flops import counting
from saccade.ops.scoring import Scoring
from saccade.ops.softmax import SoftmaxWeights
from saccade.ops.term import Softcap
from saccade.softmax.softmax import Softmax
from saccade.types import Capabilities, Count, Keys, Mixed, Part, Queries, SinkSoftmaxVariant, UserError, Values

__all__ = ['Splash']

LANES = 128  # of a TPU's vector registers, by which the kernel's blocks are counted
NAME = 'attention.splash:Splash'
NO_SINK = -1e30  # sink logit: far below every score, and far above the kernel's value for masked pairs
NOBODY = -1  # segment of keys that no query attends to
AXES = ('B T N H', 'B S K H', 'B S K H', 'B T', 'B S', 'N')


class Splash(CachingKernel):
    """Splash attention kernel for TPUs.

    Attributes:
        softmax: the ordinary softmax, with or without a sink.
        block: tokens per block of queries and of keys, a multiple of 128; a shorter sequence is one block.
        interpret: without a TPU, run in Pallas's interpreter, which is slow, instead of raising an error.
    """

    softmax: Part[SinkSoftmaxVariant] = Part(Softmax)
    block: Count = 512
    interpret: bool = False

    capabilities: ClassVar[Capabilities] = Capabilities(
        terms=False, softcap=True, window=True, content=False, time='B N T S', memory='B N T H', state='S K H'
    )
    example: ClassVar[dict[str, Any]] = {'interpret': True}

    def require_served(self, q: Queries, k: Keys, v: Values, scoring: Scoring) -> None:
        """Check platform, block, mask, terms, softmax and dropout.

        Raises:
            UserError: one of these is not supported; the message names it.
        """
        # Parameters are the same on all platforms, and their shapes are also evaluated without a TPU.
        initialised = self.scope is None or not self.is_initializing()
        if initialised and not self.interpret and platform() != 'tpu':
            raise UserError(f'{NAME} supports only TPUs, not {platform()}; interpret=True interprets it')
        require_whole_rows(NAME)
        if self.block < LANES or self.block % LANES:
            raise UserError(f'{NAME}: block must be a multiple of {LANES}, not {self.block}')
        if not band_of(scoring.mask, NAME).full and q.shape[1] != k.shape[1]:
            raise UserError(
                f'{NAME}: {q.shape[1]} queries over {k.shape[1]} keys; without ops.mask:Full the numbers must be equal'
            )
        _cap(scoring)
        if not isinstance(scoring.softmax, SoftmaxWeights):
            raise UserError(
                f'{NAME} supports only the softmax with or without a sink, not {Part(type(scoring.softmax)).name}'
            )
        if scoring.dropout is not None:
            raise UserError(f'{NAME} does not support attention dropout')

    def attend(self, q: Queries, k: Keys, v: Values, scoring: Scoring) -> Mixed:
        """Attend with the Pallas kernel on each device's rows and heads."""
        T, S = q.shape[1], k.shape[1]
        block = min(self.block, _up(max(T, S), LANES))
        if counting():
            return blockwise.attend(q, k, v, scoring, block, block)
        band, cap = band_of(scoring.mask, NAME), _cap(scoring)
        heads = max(k.shape[2], v.shape[2])  # differential attention has fewer heads of values than of keys
        k, v = (x if x.shape[2] == heads else jnp.repeat(x, heads // x.shape[2], axis=2) for x in (k, v))

        def attend(
            q: Queries, k: Keys, v: Values, q_segments: Array | None, k_segments: Array | None, sink: Array | None
        ) -> Mixed:
            run = _kernel(band, (_up(T, block), _up(S, block)), q.shape[2], block, cap, platform() != 'tpu')
            hidden = S % block == 0 or band.right == 0  # no query attends to padded keys
            segments = None
            if q_segments is not None or not hidden:
                segments = _segments(q_segments, k_segments, (q.shape[0], T, S), block)
                # Without a sink, a row without keys is the mean of all values; with a sink it is zero.
                sink = jnp.full(q.shape[2], NO_SINK) if sink is None else sink
            heads_first = (jnp.swapaxes(_padded(x, block), 1, 2) for x in (q, k, v))
            y = jax.vmap(run, in_axes=(0, 0, 0, 0, None))(*heads_first, segments, sink)
            return jnp.swapaxes(y, 1, 2)[:, :T]

        ids = (None, None) if band.segments is None else (band.segments.q_segments, band.segments.k_segments)
        ids = tuple(x if x is None else jnp.broadcast_to(x, (q.shape[0], x.shape[1])) for x in ids)
        q = (q.astype(jnp.float32) * scoring.scale).astype(q.dtype)
        given = (q, k, v, *ids, scoring.softmax.sink)
        return on_each(attend, AXES, 'B T N H', q.shape[0], heads, *given).astype(v.dtype)


def _cap(scoring: Scoring) -> float | None:
    """Return the softcap of the scores, or None; raise a UserError for other terms."""
    match scoring.terms:
        case ():
            return None
        case (Softcap(cap=cap),):
            return cap
    other = next((term for term in scoring.terms if not isinstance(term, Softcap)), scoring.terms[-1])
    raise UserError(f'{NAME} supports no score terms except one softcap, not {Part(type(other)).name}')


def _kernel(band: Band, lengths: tuple[int, int], heads: int, block: int, cap: float | None, interpret: bool) -> Any:
    """Return JAX's kernel of a mask for one row with these numbers of queries and keys."""
    from jax.experimental.pallas.ops.tpu import splash_attention as splash

    mask = splash.FullMask(lengths) if band.full else splash.LocalMask(lengths, (band.left, band.right), 0)
    sizes = splash.BlockSizes(block, block, block, block, block, block, block, block)
    return splash.make_splash_mha_single_device(
        splash.MultiHeadMask([mask] * heads), block_sizes=sizes, attn_logits_soft_cap=cap, interpret=interpret
    )


def _segments(q: Int[Array, 'B T'] | None, k: Int[Array, 'B S'] | None, sizes: tuple[int, int, int], block: int) -> Any:
    """Return the segments of padded rows, so that no query attends to keys of segment 0 or to padding."""
    from jax.experimental.pallas.ops.tpu import splash_attention as splash

    B, T, S = sizes
    q = jnp.ones((B, T), jnp.int32) if q is None else q
    k = jnp.ones((B, S), jnp.int32) if k is None else jnp.where(k == 0, NOBODY, k)
    return splash.SegmentIds(
        jnp.pad(q, ((0, 0), (0, -T % block))), jnp.pad(k, ((0, 0), (0, -S % block)), constant_values=NOBODY)
    )


def _padded(x: Float[Array, 'B T N H'], block: int) -> Float[Array, 'B _ N H']:
    return jnp.pad(x, ((0, 0), (0, -x.shape[1] % block), (0, 0), (0, 0)))


def _up(count: int, unit: int) -> int:
    return -(-count // unit) * unit
