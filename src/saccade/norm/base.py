# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Scale and bias that norms apply after normalisation."""

import flax.linen as nn

from saccade.axes import parameter
from saccade.types import Hidden


def affine(norm: nn.Module, y: Hidden) -> Hidden:
    """Scale and shift y by the norm's parameters, if `scale` and `bias` are set. Call it in a compact method."""
    if norm.scale:
        y = y * parameter(norm, 'scale', 'D', nn.initializers.ones, y.shape[-1:], dtype=y.dtype)
    if norm.bias:
        y = y + parameter(norm, 'bias', 'D', nn.initializers.zeros, y.shape[-1:], dtype=y.dtype)
    return y
