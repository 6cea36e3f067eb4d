# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Rotary frequencies and rotations, for rotary and sinusoidal positions.

Frequencies are constants of the model: they are computed in float64 during tracing, and rounded once.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from saccade.types import Queries, UserError

__all__ = ['halves', 'highest', 'linear', 'llama3', 'longrope', 'neighbours', 'ntk', 'yarn']

Frequencies = Float[np.ndarray, 'half']


class Waves(NamedTuple):
    """Scaled frequencies, with a gain of the features.

    Attributes:
        frequencies: radians per token, one for each pair of features.
        gain: factor of queries and of keys; scores are multiplied by its square.
    """

    frequencies: Frequencies
    gain: float = 1.0


Pair = tuple[Float[Array, '*any half'], Float[Array, '*any half']]
Pairing = Callable[[Array], Pair]


def frequencies(width: int, base: float) -> Frequencies:
    """Return radians per token, one for each pair of features: base^(-2c/width)."""
    return base ** (-np.arange(0, width, 2) / width)


def linear(frequencies: Frequencies, /, factor: float) -> Frequencies:
    """Stretch every wavelength by the factor (Chen et al. 2023, equation 4, https://arxiv.org/abs/2306.15595).

    Raises:
        UserError: the factor is not positive.
    """
    if factor <= 0:
        raise UserError(f'ops.rotary:linear: factor must be positive, not {factor}')
    return frequencies / factor


def llama3(frequencies: Frequencies, /, factor: float, low: float, high: float, context_length: int) -> Frequencies:
    """Stretch by the factor what turns less than `low` times in the context; leave what turns more than `high`.

    Frequencies between the two are interpolated. This is the released scaling of Llama 3.1 (Grattafiori
    et al. 2024, https://arxiv.org/abs/2407.21783).

    Args:
        low, high: numbers of turns within the context.
        context_length: original training length, in tokens.

    Raises:
        UserError: the factor or the context is not positive, or low is not below high.
    """
    if factor <= 0 or context_length <= 0:
        raise UserError(f'ops.rotary:llama3: factor {factor} and context {context_length} must be positive')
    if low >= high:
        raise UserError(f'ops.rotary:llama3: low {low} must be less than high {high}')
    turns = context_length * frequencies / (2 * np.pi)
    kept = np.clip((turns - low) / (high - low), 0.0, 1.0)
    return frequencies * (kept + (1 - kept) / factor)


def ntk(frequencies: Frequencies, /, factor: float) -> Frequencies:
    """Raise the base by factor^(width / (width - 2)): the longest wave is stretched by the factor, the shortest not.

    "NTK-aware" interpolation (Peng et al. 2023, section 3.1, https://arxiv.org/abs/2309.00071). Dynamic NTK, whose
    factor grows with the current length, is not supported: cached keys would have been rotated with another base than
    later queries.

    Raises:
        UserError: the factor is not positive, or there are fewer than two frequencies.
    """
    _require_scale('ntk', factor, frequencies)
    return frequencies * factor ** (-np.arange(len(frequencies)) / (len(frequencies) - 1))


def yarn(
    frequencies: Frequencies,
    /,
    factor: float,
    context_length: int,
    fast: float = 32.0,
    slow: float = 1.0,
    gain: float | None = None,
) -> Waves:
    """Stretch wavelengths with fewer than `slow` turns in the context by the factor, and sharpen the scores slightly.

    YaRN (Peng et al. 2023, sections 3.2 and 3.4, https://arxiv.org/abs/2309.00071). Between `slow` and
    `fast` turns frequencies are interpolated over the index of the pair, between whole indices, as in the
    authors' code; the paper interpolates over the number of turns.

    Args:
        context_length: original training length, in tokens.
        fast, slow: numbers of turns within the context; 32 and 1 suit Llama, by section 3.2.
        gain: gain of queries and keys; None for the paper's 0.1 ln(factor) + 1, whose square divides the temperature.

    Raises:
        UserError: the factor or the context is not positive, slow is not below fast, or there are too few frequencies.
    """
    _require_scale('yarn', factor, frequencies)
    if context_length <= 0 or not 0 < slow < fast:
        raise UserError(
            f'ops.rotary:yarn: context {context_length} must be positive, and 0 < slow {slow} < fast {fast}'
        )
    ratio = math.log(frequencies[0] / frequencies[1])
    low, high = (math.log(context_length * frequencies[0] / (2 * math.pi * turns)) / ratio for turns in (fast, slow))
    low, high = max(math.floor(low), 0), min(math.ceil(high), 2 * len(frequencies) - 1)
    stretched = np.clip((np.arange(len(frequencies)) - low) / max(high - low, 1e-3), 0.0, 1.0)
    gain = 0.1 * math.log(max(factor, 1.0)) + 1 if gain is None else gain
    return Waves(frequencies * (1 - stretched + stretched / factor), gain)


def longrope(frequencies: Frequencies, /, stretches: tuple[float, ...], factor: float, context_length: int) -> Waves:
    """Stretch each wavelength by a factor of its own, found by search, and sharpen the scores a little.

    LongRoPE (Ding et al. 2024, section 3, https://arxiv.org/abs/2402.13753), with the gain of Phi-3's released code,
    sqrt(1 + ln(factor) / ln(context)). Models have two sets of stretches, for sequences up to the context and
    beyond it; the config chooses one here, for the reason given at `ntk`.

    Args:
        stretches: one for each pair of features.
        factor: factor of the context length.
        context_length: original training length, in tokens.

    Raises:
        UserError: not one positive stretch for each pair, or the factor or context is not positive.
    """
    _require_scale('longrope', factor, frequencies)
    if len(stretches) != len(frequencies) or min(stretches) <= 0 or context_length <= 1:
        raise UserError(
            f'ops.rotary:longrope: {len(frequencies)} positive stretches are wanted and a context of more than 1, not '
            f'{len(stretches)} stretches and a context of {context_length}'
        )
    return Waves(
        frequencies / np.array(stretches), math.sqrt(1 + math.log(max(factor, 1.0)) / math.log(context_length))
    )


def highest(frequencies: Frequencies, /, share: float) -> Frequencies:
    """Keep a share of the frequencies, the highest ones; the other features do not turn, and carry no position.

    p-RoPE (Barbero et al. 2024, https://arxiv.org/abs/2410.06205), p = share, rounded down to whole pairs.
    `share` of `position.rotary:Rotary` spreads all frequencies over fewer features instead.

    Raises:
        UserError: the share is not above 0 and at most 1, or leaves no frequency.
    """
    kept = int(len(frequencies) * share)
    if not 0 < share <= 1 or not kept:
        raise UserError(
            f'ops.rotary:highest: a share of {share} of {len(frequencies)} frequencies keeps none or too many'
        )
    return np.where(np.arange(len(frequencies)) < kept, frequencies, 0.0)


def _require_scale(name: str, factor: float, frequencies: Frequencies) -> None:
    if factor <= 0:
        raise UserError(f'ops.rotary:{name}: factor must be positive, not {factor}')
    if len(frequencies) < 2:
        raise UserError(f'ops.rotary:{name}: needs at least 4 rotated features, not {2 * len(frequencies)}')


def decays(width: int, gamma: float) -> Frequencies:
    """Return the decay of each pair of features over a unit of distance: (2c/width + gamma) / (1 + gamma)."""
    return (np.arange(0, width, 2) / width + gamma) / (1 + gamma)


def turn(positions: Int[Array, 'B T'], frequencies: Frequencies) -> Float[Array, 'B T half']:
    """Return the angle of each position, in radians."""
    return positions[..., None].astype(jnp.float32) * jnp.asarray(frequencies, jnp.float32)


def angles(positions: Int[Array, 'B T'], width: int, base: float) -> Float[Array, 'B T half']:
    """Return the angles of positions, in radians: position times base^(-2c/width), for each pair c of features."""
    return turn(positions, frequencies(width, base))


def halves(x: Float[Array, '*any H'], /) -> Pair:
    """Pair feature c with c + H/2, as GPT-NeoX and Llama do."""
    first, second = jnp.split(x, 2, axis=-1)
    return first, second


def neighbours(x: Float[Array, '*any H'], /) -> Pair:
    """Pair feature 2c with 2c + 1, as the paper and GPT-J do."""
    return x[..., 0::2], x[..., 1::2]


def rotate(
    x: Queries,
    angle: Float[Array, 'B T half'],
    gain: float | Float[Array, 'B T half'] = 1.0,
    pairing: Pairing = halves,
) -> Queries:
    """Rotate each pair of features by its angle, and stretch it by the gain, in float32.

    The output has the first features of all pairs, then the second ones. For `neighbours` this permutes the features,
    equally for queries and keys, so products are the paper's.
    """
    first, second = pairing(x.astype(jnp.float32))
    sine, cosine = ((gain * wave)[..., None, :] for wave in (jnp.sin(angle), jnp.cos(angle)))
    turned = [first * cosine - second * sine, second * cosine + first * sine]
    return jnp.concatenate(turned, axis=-1).astype(x.dtype)
