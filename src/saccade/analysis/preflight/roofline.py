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

from saccade.train.plan import PEAKS
from saccade.types import UserError

# Bytes/s of the memory, and of a ring of chips in both directions at once, by the start of JAX's device_kind; from the
# vendors' data sheets. A ring of a TPU's torus has two of its links, a GPU all of its NVLinks.
BANDWIDTHS = {
    'TPU v4': (1.228e12, 0.9e11),
    'TPU v5 lite': (0.819e12, 0.9e11),
    'TPU v5e': (0.819e12, 0.9e11),
    'TPU v5p': (2.765e12, 1.8e11),
    'TPU v5': (2.765e12, 1.8e11),
    'TPU v6': (1.64e12, 1.8e11),
    'NVIDIA A100': (2.039e12, 3.0e11),
    'NVIDIA H100': (3.35e12, 4.5e11),
    'NVIDIA H200': (4.8e12, 4.5e11),
    'NVIDIA B200': (8.0e12, 9.0e11),
}


@dataclass(frozen=True)
class Roofline:
    """Roofline of a step.

    Attributes:
        kind: kind of chip.
        flops: a chip's share of the model's FLOPs, for the MFU.
        products, memory, links: seconds of each, without the others.
    """

    kind: str
    flops: float
    products: float
    memory: float
    links: float

    @classmethod
    def of(cls, kind: str, model_flops: float, hardware_flops: float, traffic: int, sent: int) -> 'Roofline | None':
        """Return the roofline of a step; None for an unknown kind of chip.

        Args:
            kind: JAX's name of the chip.
            model_flops, hardware_flops: FLOPs per chip needed by the model, and executed by the step.
            traffic, sent: bytes per chip read and written, and sent.
        """
        name = next((name for name in BANDWIDTHS if kind.startswith(name)), None)
        if name is None:
            return None
        memory, links = BANDWIDTHS[name]
        return cls(name, model_flops, hardware_flops / PEAKS[name], traffic / memory, sent / links)

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
        return self.flops / (PEAKS[self.kind] * seconds)

    def figures(self) -> dict[str, Any]:
        """Return the roofline for JSON output."""
        mfus = {'mfu_most': self.mfu(self.least), 'mfu_least': self.mfu(self.most)}
        return asdict(self) | {'least': self.least, 'most': self.most, 'bound': self.bound} | mfus


def chip_of(name: str) -> str:
    """Return the kind of chip with a short name, such as h100 or v5p.

    Raises:
        UserError: the chip's rates are unknown.
    """
    short = {kind.split(' ', 1)[1].lower(): kind for kind in BANDWIDTHS}
    if name.lower() not in short:
        raise UserError(f'--chip={name}: unknown chip; known are {", ".join(sorted(short))}')
    return short[name.lower()]
