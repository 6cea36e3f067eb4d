# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""FNet's mixing: the real part of a Fourier transform over tokens and features, without parameters.

    Y = Re(F_T X F_D),   F_M the discrete Fourier transform of M numbers, exp(-2 pi i m n / M) for m, n = 0 .. M-1
      = C_T X C_D - S_T X S_D,   with cosines C and sines S of the same angles

Lee-Thorp et al. 2022, "FNet: Mixing Tokens with Fourier Transforms", equation 3, https://arxiv.org/abs/2105.03824
Every output depends on all tokens of a row and on their number, so padding changes all of it, as in the paper, whose
rows are padded to one length: `embed.padding_token:PaddingToken` says so in a config. It cannot be causal, decode, or
separate padding and packed documents. Cost: B T D log(T D) in time, B T D in memory; computed in float32.
"""

import dataclasses
from typing import ClassVar

import jax.numpy as jnp

from saccade.attention.whole_rows_base import WholeRows
from saccade.types import Capabilities, Hidden

__all__ = ['Fourier']


class Fourier(WholeRows):
    """Fourier mixing of FNet."""

    capabilities: ClassVar[Capabilities] = dataclasses.replace(
        WholeRows.capabilities, time='B T D log(T D)', memory='B T D'
    )

    def mix_rows(self, x: Hidden, train: bool) -> Hidden:
        """Return the real part of the transform over the last two axes."""
        return jnp.fft.fft2(x.astype(jnp.float32)).real.astype(x.dtype)
