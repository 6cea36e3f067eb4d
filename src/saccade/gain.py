# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Trained scale factors, stored at a scale of their own, which sets their effective learning rate.

    s = (start / stored) s',    s' starts at `stored`

Loshchilov, Hsieh, Sun, Ginsburg 2024, "nGPT: Normalized Transformer with Representation Learning on the Hypersphere",
section 2.5, https://arxiv.org/abs/2410.01131. An optimizer whose step size does not depend on the gradient's scale,
such as Adam, moves s by start / stored times the learning rate.
"""

from dataclasses import dataclass

import flax.linen as nn
from jaxtyping import Array

from saccade.axes import parameter
from saccade.types import Positive

__all__ = ['Gain']


@dataclass(frozen=True)
class Gain:
    """Trained scale factors.

    Attributes:
        start: initial value of each factor.
        stored: initial value of the parameter; None for 1 / sqrt(D), the size of an element of a unit vector.
    """

    start: Positive = 1.0
    stored: Positive | None = None

    def __call__(self, module: nn.Module, name: str, axes: str, shape: tuple[int, ...], D: int) -> Array:
        """Make the factors as a parameter of the module. Call it in a compact method or in setup.

        Args:
            D: width in the default of `stored`.
        """
        stored = D**-0.5 if self.stored is None else self.stored
        return self.start / stored * parameter(module, name, axes, nn.initializers.constant(stored), shape)
