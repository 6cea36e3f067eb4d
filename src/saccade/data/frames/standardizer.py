# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Standardizer: a processor that scales each band to mean 0 and deviation 1 over the training split."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from saccade.data.processor_base import ProcessorBase
from saccade.types import UserError

_LEAST = 1e-6  # of a deviation: a band that never changes stays 0


@dataclass(frozen=True)
class Standardizer(ProcessorBase):
    """Standardizer. Attributes: mean and deviation of each of the F bands."""

    mean: tuple[float, ...]
    deviation: tuple[float, ...]

    of_what: ClassVar[str] = 'frames'

    def __post_init__(self) -> None:
        if not self.mean or len(self.mean) != len(self.deviation) or min(self.deviation) <= 0:
            raise UserError('needs as many means as deviations above 0')

    @classmethod
    def of(cls, frames: Float[np.ndarray, 'frames F']) -> 'Standardizer':
        """Return the standardizer of the frames of a training split."""
        wide = frames.astype(np.float64)
        return cls(tuple(wide.mean(axis=0).tolist()), tuple(np.maximum(wide.std(axis=0), _LEAST).tolist()))

    def __call__(self, frames: Float[np.ndarray, '... F']) -> Float[np.ndarray, '... F']:
        """Return standardized frames, in float32."""
        return ((frames - np.array(self.mean)) / np.array(self.deviation)).astype(np.float32)
