# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Peak rates of a chip: of matrix products, of its memory and of its links.

Rates of TPUs and GPUs are from the vendors' data sheets. The rates of a CPU depend on its cores, its memory and XLA's
own kernels, so two kernels measure them here, in less than a second.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from saccade.train.plan import PEAKS, chip_of
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
SIDE = 1024  # of the square matrices that are multiplied
NUMBERS = 2**25  # that are read and written: several times the cache of a processor
RUNS = 9


@dataclass(frozen=True)
class PeakRates:
    """Peak rates of a chip.

    Attributes:
        kind: of chip, as JAX calls it.
        flops: FLOP/s of matrix products.
        memory, links: bytes/s of its memory, and to other chips.
        source: where they are from, in words.
    """

    kind: str
    flops: float
    memory: float
    links: float
    source: str = 'of bfloat16'

    @classmethod
    def of_kind(cls, kind: str) -> 'PeakRates | None':
        """Return the rates of a kind of TPU or GPU from its data sheet; None if they are unknown."""
        name = chip_of(kind)
        return cls(name, PEAKS[name], *BANDWIDTHS[name]) if name in BANDWIDTHS else None

    @classmethod
    def of_chip(cls, chip: str) -> 'PeakRates':
        """Return the rates of a chip with a short name, such as h100 or v5p.

        Raises:
            UserError: they are unknown.
        """
        short = {kind.split(' ', 1)[1].lower(): kind for kind in BANDWIDTHS}
        if chip.lower() not in short:
            raise UserError(f'--chip={chip}: unknown chip; known are {", ".join(sorted(short))}')
        return cls.of_kind(short[chip.lower()])

    @classmethod
    def of_host(cls) -> 'PeakRates':
        """Measure the rates of a local CPU, in float32; simulated devices share them.

        Simulated devices send through the memory.
        """
        device, count = jax.devices()[0], jax.device_count()
        matrix = jnp.ones((SIDE, SIDE), device=device)
        numbers = jnp.ones(NUMBERS, device=device)
        flops = 2 * SIDE**3 / _seconds(lambda x: x @ matrix, matrix + 0)
        memory = 2 * numbers.nbytes / _seconds(lambda x: -x, numbers)
        return cls(device.device_kind, flops / count, memory / count, memory / count, 'of float32 measured here')


def _seconds(kernel: Callable[[Array], Array], x: Float[Array, '...']) -> float:
    """Return the seconds of the fastest run of a kernel, whose result takes the place of its argument."""
    program = jax.jit(kernel, donate_argnums=0).lower(x).compile()
    took = []
    for _ in range(RUNS):
        begun = time.perf_counter()
        x = jax.block_until_ready(program(x))
        took.append(time.perf_counter() - begun)
    return min(took)
