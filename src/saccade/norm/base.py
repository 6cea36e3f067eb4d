# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What norms share that may scale and shift each feature once it is normalised."""

import flax.linen as nn

from saccade.types import Hidden


def affine(norm: nn.Module, y: Hidden) -> Hidden:
    """Scale and shift by parameters of the norm, as far as its fields `scale` and `bias` ask. Called while compact."""
    if norm.scale:
        y = y * norm.param('scale', nn.initializers.ones, y.shape[-1:])
    if norm.bias:
        y = y + norm.param('bias', nn.initializers.zeros, y.shape[-1:])
    return y
