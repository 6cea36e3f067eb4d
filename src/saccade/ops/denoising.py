# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Span corruption (T5, UL2): drop spans of a row; the source has the remaining tokens, the target the dropped ones.

    x = a b c d e f g, without b c and f g:     source = a <0> d e <1>,   target = <0> b c <1> f g <2>

Raffel et al. 2020, "Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer", section 3.1.4
and figure 2, https://arxiv.org/abs/1910.10683. A row starts with a kept span and ends with a dropped one, as in its
authors' code, and all such partitions are equally probable. One span without sentinels is a prefix LM. Each row has its
own PRNG key, so its place in a batch does not matter.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from einops import rearrange
from flax import struct
from jaxtyping import Array, Bool, Int, Key

from saccade.ops.masking import RowKeys
from saccade.types import Positive, Range, UserError

__all__ = ['Sequential', 'Spans']

_NAME = 'ops.denoising'


@dataclass(frozen=True)
class SpanBounds:
    """Bounds of the span corruption, by row length.

    Attributes: minimum and maximum number of dropped tokens for rows of 0, 1, ... tokens, and the number of spans.
    """

    least: Int[np.ndarray, '_']
    most: Int[np.ndarray, '_']
    spans: Int[np.ndarray, '_']


@dataclass(frozen=True, kw_only=True)
class Denoiser:
    """Denoiser: one way to corrupt a row.

    Attributes:
        mode: special token at the start of its sources (Tay et al. 2022, "UL2", section 3.1.3,
            https://arxiv.org/abs/2205.05131); None for no mode token.
        weight: relative probability of the denoiser.
    """

    mode: str | None = None
    weight: Positive = 1.0

    marked: ClassVar[bool]  # sentinels mark the dropped spans

    def counts(self, length: int) -> SpanBounds:
        """Return the bounds for rows of up to `length` tokens; nothing is dropped from rows of fewer than two tokens.

        Raises:
            UserError: rows of this length are too short.
        """
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Spans(Denoiser):
    """Span corruption, with spans of a mean length: UL2's R-denoisers, and its X-denoisers if they are long or many.

    Attributes:
        rate: share of dropped tokens.
        mean: mean span length in tokens.
    """

    rate: Annotated[float, Range(above=0, below=1)]
    mean: float

    marked: ClassVar[bool] = True

    def __post_init__(self) -> None:
        least = max(1.0, self.rate / (1 - self.rate))
        if self.mean < least:
            raise UserError(
                f'{_NAME}:Spans: mean must be at least {least:g} tokens at a rate of {self.rate}, not {self.mean}, '
                'for a token is kept before each span'
            )

    def counts(self, length: int) -> SpanBounds:
        """Return, for each row length, the numbers of dropped tokens and of spans.

        Raises:
            UserError: rows of this length drop too few tokens for one span.
        """
        if length < 2 or np.rint(self.rate * length / self.mean) < 1:
            raise UserError(
                f'{_NAME}:Spans: rows of {length} tokens lose {self.rate * length:.3g} at a rate of {self.rate}, too '
                f'few for a span of {self.mean:g} on average; make the rows longer, or the mean smaller'
            )
        lengths = np.arange(length + 1)
        dropped = _inside(np.rint(self.rate * lengths), lengths)
        spans = np.clip(np.rint(dropped / self.mean), np.minimum(dropped, 1), np.minimum(dropped, lengths - dropped))
        return SpanBounds(dropped, dropped, spans.astype(np.int32))


@dataclass(frozen=True, kw_only=True)
class Sequential(Denoiser):
    """Prefix LM denoiser, UL2's S-denoiser: drops the rest of a row after a prefix of any length.

    Raffel et al. 2020, section 3.2.3, split anywhere; UL2, table 1, drops a quarter on average. No sentinel is needed.

    Attributes:
        least, most: bounds of the dropped share of the tokens.
    """

    least: float = 0.0
    most: float = 1.0

    marked: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 0 <= self.least <= self.most <= 1:
            raise UserError(
                f'{_NAME}:Sequential: least {self.least} and most {self.most} must be shares of 1, in this order'
            )

    def counts(self, length: int) -> SpanBounds:
        """Return, for each row length, the bounds of the number of dropped last tokens, in one span.

        Raises:
            UserError: the length is below 2 tokens.
        """
        if length < 2:
            raise UserError(f'{_NAME}:Sequential: rows of {length} tokens have no prefix with a rest')
        lengths = np.arange(length + 1)
        least, most = (_inside(np.rint(share * lengths), lengths) for share in (self.least, self.most))
        return SpanBounds(least, most, np.minimum(most, 1))


def _inside(dropped: np.ndarray, lengths: np.ndarray) -> Int[np.ndarray, '_']:
    """Clip to at least one token and not all; 0 for rows of fewer than two tokens."""
    return np.where(lengths < 2, 0, np.clip(dropped, 1, np.maximum(lengths - 1, 1))).astype(np.int32)


@dataclass(frozen=True)
class DenoiserMixture:
    """Mixture of denoisers, one of which is drawn for each row.

    Attributes:
        length: maximum row length, in tokens.
    """

    denoisers: tuple[Denoiser, ...]
    length: int

    def __post_init__(self) -> None:
        if not self.denoisers:
            raise UserError(f'{_NAME}: at least one denoiser is needed')

    @property
    def sentinels(self) -> int:
        """Number of sentinels needed; one follows the last span."""
        counts = [each.counts(self.length).spans.max() + 1 for each in self.denoisers if each.marked]
        return int(max(counts, default=0))

    @property
    def sizes(self) -> tuple[int, int]:
        """Maximum lengths of source and target in tokens, including the end token."""
        modes = any(each.mode is not None for each in self.denoisers)
        read, written = zip(*map(self._longest, self.denoisers), strict=True)
        return max(read) + modes + 1, max(written) + 1

    def _longest(self, denoiser: Denoiser) -> tuple[int, int]:
        counts = denoiser.counts(self.length)
        marks = denoiser.marked * counts.spans
        read = np.arange(self.length + 1) - counts.least + marks
        return int(read.max()), int((counts.most + marks).max()) + denoiser.marked

    @property
    def shares(self) -> Sequence[float]:
        """Probability of each denoiser."""
        total = sum(each.weight for each in self.denoisers)
        return [each.weight / total for each in self.denoisers]


@struct.dataclass
class Marks:
    """Ids of the special tokens, for each row.

    Attributes:
        sentinels: ids of the sentinels, in order.
        modes: id of each denoiser's mode token; unused for a denoiser without one.
        start: first token of the target.
        end: last token of source and target.
    """

    sentinels: Int[Array, 'B K']
    modes: Int[Array, 'B E']
    start: Int[Array, 'B']
    end: Int[Array, 'B']


@struct.dataclass
class DenoisingRows:
    """Source and target of each row, the target with its start token; their lengths; and the index of the denoiser.

    Both are empty for a row of fewer than two tokens.
    """

    source: Int[Array, 'B S']
    source_lengths: Int[Array, 'B']
    tokens: Int[Array, 'B M']
    lengths: Int[Array, 'B']
    which: Int[Array, 'B']


def denoise(
    keys: RowKeys, tokens: Int[Array, 'B T'], lengths: Int[Array, 'B'], mixture: DenoiserMixture, marks: Marks
) -> DenoisingRows:
    """Corrupt each row by one of the denoisers.

    Args:
        lengths: length of each row, whose tokens are left-aligned.
    """
    counts = [each.counts(mixture.length) for each in mixture.denoisers]
    least, most, spans = (
        jnp.asarray(np.stack([getattr(each, name) for each in counts])) for name in ('least', 'most', 'spans')
    )
    marked = jnp.array([each.marked for each in mixture.denoisers])
    moded = jnp.array([each.mode is not None for each in mixture.denoisers])

    def one(key: Array, tokens: Int[Array, 'T'], length: Int[Array, ''], marks: Marks) -> DenoisingRows:
        choose, share, cut = jax.random.split(key, 3)
        which = jax.random.choice(choose, len(counts), p=jnp.array(mixture.shares))
        dropped = jax.random.randint(share, (), least[which, length], most[which, length] + 1)
        noise = noise_spans(cut, length, dropped, spans[which, length], tokens.shape[0])
        mode = jnp.where(moded[which], marks.modes[which], -1)
        return _sides(tokens, noise, length, marks, mode, marked[which], mixture.sizes).replace(which=which)

    return jax.vmap(one)(keys, tokens, lengths, marks)


def noise_spans(
    key: Key[Array, ''], length: Int[Array, ''], dropped: Int[Array, ''], spans: Int[Array, ''], T: int
) -> Bool[Array, 'T']:
    """Draw the mask of dropped tokens: `dropped` of `length`, in `spans` spans, each after at least one kept token."""
    of_kept, of_dropped = jax.random.split(key)
    kept, gone = _parts(of_kept, length - dropped, spans, T), _parts(of_dropped, dropped, spans, T)
    stops = jnp.cumsum(kept + gone)
    real = (jnp.arange(T) < spans).astype(jnp.int32)
    edges = jnp.zeros(T + 1, jnp.int32).at[stops - gone].add(real).at[stops].add(-real)
    return jnp.cumsum(edges)[:T] > 0


def _parts(key: Key[Array, ''], items: Int[Array, ''], parts: Int[Array, ''], T: int) -> Int[Array, 'T']:
    """Draw the sizes of non-empty parts of the items, with all partitions equally probable."""
    place = jnp.arange(T)
    order = jnp.where((place > 0) & (place < items), jax.random.uniform(key, (T,)), jnp.inf)
    begins = jnp.argsort(jnp.argsort(order)) < parts - 1
    return jnp.zeros(T, jnp.int32).at[jnp.cumsum(begins)].add(place < items)


def _sides(
    tokens: Int[Array, 'T'],
    noise: Bool[Array, 'T'],
    length: Int[Array, ''],
    marks: Marks,
    mode: Int[Array, ''],
    marked: Bool[Array, ''],
    sizes: tuple[int, int],
) -> DenoisingRows:
    """Return source and target of one row; a mode of -1 means none."""
    begins = noise & ~jnp.roll(noise, 1)  # the first token is never dropped, so the wrapped value does not matter
    span, real, always = jnp.cumsum(begins), noise.any(), jnp.ones(1, bool)
    sentinel = _sentinel(marks, span - 1)
    left = (jnp.arange(tokens.shape[0]) < length) & (~noise | (begins & marked))
    source, source_length = _packed(
        [mode[None], jnp.where(noise, sentinel, tokens), marks.end[None]],
        [(mode >= 0)[None], left, always],
        sizes[0],
        real,
    )
    dropped, written = jnp.stack([sentinel, tokens], axis=-1), jnp.stack([begins & marked, noise], axis=-1)
    target, target_length = _packed(
        [marks.start[None], _flat(dropped), _sentinel(marks, span[-1])[None], marks.end[None]],
        [always, _flat(written), marked[None], always],
        sizes[1] + 1,
        real,
    )
    return DenoisingRows(source, source_length, target, target_length, jnp.zeros((), jnp.int32))


def _sentinel(marks: Marks, number: Int[Array, '*T']) -> Int[Array, '*T']:
    return marks.sentinels[number] if marks.sentinels.shape[0] else jnp.zeros_like(number)


def _flat(pairs: Array) -> Array:
    return rearrange(pairs, 'T two -> (T two)')


def _packed(
    values: Sequence[Array], wanted: Sequence[Array], size: int, real: Bool[Array, '']
) -> tuple[Int[Array, '_'], Int[Array, '']]:
    """Compact the wanted values at the start of an array of this size; return it and their number.

    Args:
        real: False if no values are wanted.
    """
    kept = jnp.concatenate(wanted) & real
    at = jnp.where(kept, jnp.cumsum(kept) - 1, size)
    packed = jnp.zeros(size, jnp.int32).at[at].set(jnp.concatenate(values), mode='drop')
    return packed, kept.sum()
