# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Trained factors that are stored at a size of their own, which sets how fast they learn.

    s = (start / stored) s',    s' starts at `stored`

Loshchilov, Hsieh, Sun, Ginsburg 2024, "nGPT: Normalized Transformer with Representation Learning on the Hypersphere",
section 2.5, https://arxiv.org/abs/2410.01131. An optimizer whose steps do not depend on the size of a gradient, as
Adam's, moves s by start / stored times the learning rate.
"""

from dataclasses import dataclass

import flax.linen as nn
from jaxtyping import Array

from saccade.axes import parameter
from saccade.types import Positive

__all__ = ['Gain']


@dataclass(frozen=True)
class Gain:
    """Trained factors.

    Attributes:
        start: of each factor.
        stored: the size that the parameter starts at; None for 1 / sqrt(D), that of an element of a vector of norm 1.
    """

    start: Positive = 1.0
    stored: Positive | None = None

    def __call__(self, module: nn.Module, name: str, axes: str, shape: tuple[int, ...], D: int) -> Array:
        """Make the factors as a parameter of the module. Called in a compact method, or in setup.

        Args:
            D: width that `stored` goes by where it is None.
        """
        stored = D**-0.5 if self.stored is None else self.stored
        return self.start / stored * parameter(module, name, axes, nn.initializers.constant(stored), shape)
