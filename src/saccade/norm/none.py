# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""No normalisation (identity), for a block or a model without norms.

    y = x

Zhang, Dauphin, Ma 2019, "Fixup Initialization: Residual Learning Without Normalization",
https://arxiv.org/abs/1901.09321: a deep stack without norms needs downscaled initial weights or branches.
"""

from saccade.module import Transform
from saccade.types import Hidden, Real

__all__ = ['NoNorm']


class NoNorm(Transform):
    """No normalisation: returns its input."""

    def __call__(self, x: Hidden, real: Real | None = None) -> Hidden:
        return x
