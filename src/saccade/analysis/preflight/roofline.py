# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Roofline of a step on a chip: time of matrix products, memory traffic and communication at peak rates.

    products = FLOPs / peak,   memory = bytes / bandwidth,   links = bytes sent / bandwidth of a ring
    step >= max(products, memory, links);   step <= their sum, if nothing overlaps

Williams, Waterman, Patterson 2009, "Roofline: An Insightful Visual Performance Model for Multicore Architectures",
https://doi.org/10.1145/1498765.1498785. No chip reaches its peak rates: the result is a lower bound on the time, and
the resource that limits it.
"""

from dataclasses import asdict, dataclass
from typing import Any

from saccade.analysis.preflight.peak_rates import PeakRates


@dataclass(frozen=True)
class Roofline:
    """Roofline of a step.

    Attributes:
        rates: of the chip.
        flops: a chip's share of the model's FLOPs, for the MFU.
        products, memory, links: seconds of each, without the others.
    """

    rates: PeakRates
    flops: float
    products: float
    memory: float
    links: float

    @classmethod
    def of(cls, rates: PeakRates, model_flops: float, hardware_flops: float, traffic: int, sent: int) -> 'Roofline':
        """Return the roofline of a step.

        Args:
            model_flops, hardware_flops: FLOPs per chip needed by the model, and executed by the step.
            traffic, sent: bytes per chip read and written, and sent.
        """
        return cls(rates, model_flops, hardware_flops / rates.flops, traffic / rates.memory, sent / rates.links)

    @property
    def least(self) -> float:
        """Return the seconds of a step if everything overlaps."""
        return max(self.products, self.memory, self.links)

    @property
    def most(self) -> float:
        """Return the seconds of a step if nothing overlaps."""
        return self.products + self.memory + self.links

    @property
    def bound(self) -> str:
        """Return the limiting resource, in words."""
        seconds = {'matrix products': self.products, 'memory traffic': self.memory, 'communication': self.links}
        return max(seconds, key=seconds.get)

    def mfu(self, seconds: float) -> float:
        """Return the model FLOP utilisation of a step of this many seconds."""
        return self.flops / (self.rates.flops * seconds)

    def figures(self) -> dict[str, Any]:
        """Return the roofline for JSON output."""
        mfus = {'mfu_most': self.mfu(self.least), 'mfu_least': self.mfu(self.most)}
        return asdict(self) | {'least': self.least, 'most': self.most, 'bound': self.bound} | mfus
