# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Roofline of a step on a chip: how long matrix products, memory traffic and communication take, each at its full rate.

    products = FLOPs / peak,   memory = bytes / bandwidth,   links = bytes sent / bandwidth of a ring
    step >= max(products, memory, links);   step <= their sum, where nothing runs at the same time

Williams, Waterman, Patterson 2009, "Roofline: An Insightful Visual Performance Model for Multicore Architectures",
https://doi.org/10.1145/1498765.1498785. No chip reaches its rates: it is what no program can beat, and what bounds it.
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
        kind: of chip.
        flops: of the model, a chip's share; its products over those of the peak are the MFU.
        products, memory, links: seconds that each would take alone.
    """

    kind: str
    flops: float
    products: float
    memory: float
    links: float

    @classmethod
    def of(cls, kind: str, model_flops: float, hardware_flops: float, traffic: int, sent: int) -> 'Roofline | None':
        """Return the roofline of a step; None of a kind of chip that is not known.

        Args:
            kind: as JAX calls it.
            model_flops, hardware_flops: that the model needs, and that the step does, on each chip.
            traffic, sent: bytes that each chip reads and writes, and sends.
        """
        name = next((name for name in BANDWIDTHS if kind.startswith(name)), None)
        if name is None:
            return None
        memory, links = BANDWIDTHS[name]
        return cls(name, model_flops, hardware_flops / PEAKS[name], traffic / memory, sent / links)

    @property
    def least(self) -> float:
        """Seconds of a step in which everything runs at the same time."""
        return max(self.products, self.memory, self.links)

    @property
    def most(self) -> float:
        """Seconds of a step in which one thing runs after the other."""
        return self.products + self.memory + self.links

    @property
    def bound(self) -> str:
        """What takes longest, in words."""
        seconds = {'matrix products': self.products, 'memory traffic': self.memory, 'communication': self.links}
        return max(seconds, key=seconds.get)

    def mfu(self, seconds: float) -> float:
        """Return the share of the peak that the model's own FLOPs would be in a step of so many seconds."""
        return self.flops / (PEAKS[self.kind] * seconds)

    def figures(self) -> dict[str, Any]:
        """All of it, for programs."""
        mfus = {'mfu_most': self.mfu(self.least), 'mfu_least': self.mfu(self.most)}
        return asdict(self) | {'least': self.least, 'most': self.most, 'bound': self.bound} | mfus


def chip_of(name: str) -> str:
    """Return the kind of chip that is named, as h100 or v5p.

    Raises:
        UserError: it is none of those whose rates are known.
    """
    short = {kind.split(' ', 1)[1].lower(): kind for kind in BANDWIDTHS}
    if name.lower() not in short:
        raise UserError(f'--chip={name}: no rates are known of it; there are {", ".join(sorted(short))}')
    return short[name.lower()]
