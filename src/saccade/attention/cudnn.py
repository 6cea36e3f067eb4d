# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""cuDNN attention: NVIDIA's fused kernel for GPUs, a FlashAttention, as `jax.nn.dot_product_attention` calls it.

    y  =  softmax(scale Q K^T, masked) V,    without the scores in memory

NVIDIA 2026, https://docs.nvidia.com/deeplearning/cudnn/frontend/latest/operations/Attention.html, after Dao 2023,
"FlashAttention-2", https://arxiv.org/abs/2307.08691
Ours passes no mask or bias arrays, which JAX's call has rejected or misread: only causality, the reach of a causal
window, and the number of real keys. It supports rows of one document, with or without padding at the end; a batch with
other rows uses blockwise attention, by a branch at run time. Cost: B N T S in time, half for causal masks, B N T H in
memory. Heads are padded to a multiple of 8. Only bfloat16 and float16; no terms or dropout.
"""

import re
from collections.abc import Callable
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jax.experimental.layout import Layout, with_layout_constraint
from jaxtyping import Array, Bool, Float, Int

from saccade.attention.base import CachingKernel, require_whole_rows
from saccade.ops import blockwise
from saccade.ops.band import Band, band_of
from saccade.ops.devices import device, on_each
from saccade.ops.flops import counting
from saccade.ops.mask import Causal, Full, SameSegment, Window
from saccade.ops.scoring import Scoring
from saccade.ops.softmax import SoftmaxWeights
from saccade.softmax.softmax import Softmax
from saccade.types import BareSoftmaxVariant, Capabilities, Keys, Mixed, Part, Queries, UserError, Values

__all__ = ['CuDNN']

NAME = 'attention.cudnn:CuDNN'
DTYPES = (jnp.bfloat16, jnp.float16)
OLDEST = 8.0  # compute capability: Ampere
WIDTHS = ((9.0, 256), (OLDEST, 128))  # maximum head width from a compute capability on, including the backward pass
UNIT = 8  # the head width is padded to a multiple of this
BLOCK = 256  # tokens per block, for rows that the kernel does not support
AXES = ('B T N H', 'B S K H', 'B S K H', 'B T', 'B S')

Attend = Callable[..., Mixed]


class CuDNN(CachingKernel):
    """cuDNN attention kernel for NVIDIA GPUs from Ampere on.

    Attributes:
        softmax: only the ordinary softmax.
        emulate: without a supported GPU, compute the same with XLA and all scores in memory, instead of an error.
    """

    softmax: Part[BareSoftmaxVariant] = Part(Softmax)
    emulate: bool = False

    capabilities: ClassVar[Capabilities] = Capabilities(
        terms=False, window=True, content=False, time='B N T S', memory='B N T H', state='S K H'
    )
    example: ClassVar[dict[str, Any]] = {'emulate': True}

    @property
    def _emulated(self) -> bool:
        """True if XLA replaces the kernel, as in float32 initialisation of parameters without a GPU."""
        return self.emulate or (self.scope is not None and self.is_initializing())

    def require_served(self, q: Queries, k: Keys, v: Values, scoring: Scoring) -> None:
        """Check platform, GPU, dtype, width of heads, rows, mask, terms, softmax and dropout.

        Raises:
            UserError: one of these is not supported; the message names it.
        """
        if not self._emulated:
            _require_gpu(q, k, v)
        require_whole_rows(NAME)
        band = band_of(scoring.mask, NAME)
        if not (band.full or band.causal):
            raise UserError(f'{NAME} supports windows only within ops.mask:Causal, not over later tokens')
        if not band.full and q.shape[1] != k.shape[1]:
            raise UserError(
                f'{NAME}: {q.shape[1]} queries over {k.shape[1]} keys; without ops.mask:Full the numbers must be equal'
            )
        if scoring.terms:
            raise UserError(f'{NAME} does not support score terms such as {Part(type(scoring.terms[0])).name}')
        if not isinstance(scoring.softmax, SoftmaxWeights):
            raise UserError(f'{NAME} supports only the ordinary softmax, not {Part(type(scoring.softmax)).name}')
        if scoring.softmax.sink is not None:
            raise UserError(f'{NAME} does not support a softmax with a sink')
        if scoring.dropout is not None:
            raise UserError(f'{NAME} does not support attention dropout')

    def attend(self, q: Queries, k: Keys, v: Values, scoring: Scoring) -> Mixed:
        """Attend with cuDNN on each device's rows and heads; blockwise for rows that it does not support."""
        if counting():
            return blockwise.attend(q, k, v, scoring, BLOCK, BLOCK)
        band, width = band_of(scoring.mask, NAME), v.shape[3]
        heads = max(k.shape[2], v.shape[2])  # differential attention has fewer heads of values than of keys
        k, v = (x if x.shape[2] == heads else jnp.repeat(x, heads // x.shape[2], axis=2) for x in (k, v))

        def fused(
            q: Queries, k: Keys, v: Values, q_segments: Int[Array, 'B T'] | None, k_segments: Int[Array, 'B S'] | None
        ) -> Mixed:
            lengths = None if band.causal or k_segments is None else jnp.maximum(_lengths(k_segments), 1)
            y = jax.nn.dot_product_attention(
                *_padded(q, k, v),
                scale=scoring.scale,
                is_causal=band.causal,
                local_window_size=None if band.left is None or band.left >= k.shape[1] - 1 else (band.left, 0),
                key_value_seq_lengths=lengths,
                implementation='xla' if self._emulated else 'cudnn',
            )[..., :width]
            if q_segments is None:
                return y
            reads = (q_segments != 0) & (_lengths(k_segments) > 0)[:, None]
            return jnp.where(reads[..., None, None], y, 0.0)

        def in_blocks(q: Queries, k: Keys, v: Values, q_segments: Array, k_segments: Array) -> Mixed:
            mask = _mask(band) & SameSegment(q_segments, k_segments)
            q, k, v = map(_row_major, (q, k, v))
            return _row_major(blockwise.attend(q, k, v, Scoring(mask, scale=scoring.scale), BLOCK, BLOCK))

        def attend(q: Queries, k: Keys, v: Values, q_segments: Array | None, k_segments: Array | None) -> Mixed:
            given = (q, k, v, q_segments, k_segments)
            if q_segments is None:
                return fused(*given)
            return jax.lax.cond(_of_one_document(q_segments, k_segments), fused, in_blocks, *given)

        ids = (None, None) if band.segments is None else (band.segments.q_segments, band.segments.k_segments)
        ids = tuple(x if x is None else jnp.broadcast_to(x, (q.shape[0], x.shape[1])) for x in ids)
        return on_each(attend, AXES, 'B T N H', q.shape[0], heads, q, k, v, *ids)


def _require_gpu(q: Queries, k: Keys, v: Values) -> None:
    """Check that cuDNN supports attention on this GPU in these dtypes and widths.

    Raises:
        UserError: the platform, GPU, dtype or head width is not supported.
    """
    found = device()
    if found.platform != 'gpu':
        raise UserError(f'{NAME} supports only NVIDIA GPUs, not {found.platform}; emulate=True emulates it')
    capability = str(getattr(found, 'compute_capability', ''))
    if not re.fullmatch(r'\d+\.\d+', capability) or float(capability) < OLDEST:
        raise UserError(
            f'{NAME} needs an NVIDIA GPU of compute capability {OLDEST} or more, not {found.device_kind} '
            f'({capability or "none"})'
        )
    dtypes = {x.dtype for x in (q, k, v)}
    if len(dtypes) > 1 or not dtypes <= {jnp.dtype(dtype) for dtype in DTYPES}:
        raise UserError(f'{NAME} supports bfloat16 and float16, not {" with ".join(sorted(map(str, dtypes)))}')
    widest = next(width for least, width in WIDTHS if float(capability) >= least)
    if (width := max(k.shape[3], v.shape[3])) > widest:
        raise UserError(f'{NAME} supports heads of up to {widest} on {found.device_kind}, not {width}')


def _mask(band: Band) -> Causal | Full | Window:
    """Return the mask of a supported band, without segments."""
    if band.full:
        return Full()
    return Causal() if band.left is None else Window(band.left)


def _row_major(x: Float[Array, 'B T N H']) -> Float[Array, 'B T N H']:
    """Keep an array in row-major order in memory, which the fused kernel needs.

    XLA gives both branches of a conditional the order that suits the larger one, which are the blocks; the fused kernel
    would copy all its arrays.
    """
    return with_layout_constraint(x, Layout(major_to_minor=tuple(range(x.ndim))))


def _padded(*arrays: Float[Array, 'B _ _ _']) -> list[Float[Array, 'B _ _ H']]:
    """Pad the heads with zeros, which change no product, to a width that the kernel supports."""
    width = -(-max(x.shape[3] for x in arrays) // UNIT) * UNIT
    return [jnp.pad(x, ((0, 0), (0, 0), (0, 0), (0, width - x.shape[3]))) for x in arrays]


def _lengths(segments: Int[Array, 'B T']) -> Int[Array, 'B']:
    """Count the tokens of each row without padding."""
    return jnp.sum(segments != 0, axis=1, dtype=jnp.int32)


def _of_one_document(q: Int[Array, 'B T'], k: Int[Array, 'B S']) -> Bool[Array, '']:
    """Return True if queries and keys of each row are one document or none, with all padding after it."""

    def whole(segments: Int[Array, 'B _']) -> Bool[Array, '']:
        real = jnp.arange(segments.shape[1]) < _lengths(segments)[:, None]
        return jnp.all(segments == jnp.where(real, segments[:, :1], 0))

    same = (q[:, 0] == k[:, 0]) | (q[:, 0] == 0) | (k[:, 0] == 0)
    return whole(q) & whole(k) & jnp.all(same)
