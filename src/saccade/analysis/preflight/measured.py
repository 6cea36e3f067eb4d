# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Measured cost of a step: FLOPs of the matrix products in the compiled program, peak memory, and seconds.

A GPU's allocator records its peak. On a CPU the peak is the growth of this process's resident memory, as counted by
Linux, from before the weights exist to the maximum during a step; this includes the memory of XLA's threads and
products. A training process holds more, since it keeps the memory that its steps free (`train.process.memory`).
"""

import ctypes
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from saccade.analysis.preflight.products import product_flops
from saccade.train.backend import OnMesh
from saccade.train.process.memory import return_large_blocks
from saccade.types import UserError

STEPS = 3
_STATUS, _FORGET = Path('/proc/self/status'), Path('/proc/self/clear_refs')


@dataclass(frozen=True)
class MeasuredStep:
    """Measured FLOPs and memory of a step.

    Attributes: FLOPs in matrix products of the compiled program, None if unknown; peak bytes during the steps, both
    summed over all devices; seconds of the fastest step.
    """

    flops: int | None
    peak_bytes: int
    seconds: float

    @classmethod
    def of(cls, step: OnMesh) -> 'MeasuredStep':
        """Compile a step for the local devices and run it a few times, with rows of zeros.

        Raises:
            UserError: memory cannot be measured on this platform.
        """
        platform, rows, key = jax.default_backend(), step.batches[0], jax.random.key_data(jax.random.key(0))
        if platform == 'cpu' and not os.access(_FORGET, os.W_OK):
            raise UserError('--measure: memory cannot be measured on this platform: run it on Linux, or on a GPU')
        return_large_blocks()  # or the heap would hold the memory of several steps
        # Both are compiled before the measurement, as compilation also needs memory.
        program = step.train_step(rows).compile()
        init = jax.jit(step.learner.init, out_shardings=step.places).lower(key, rows).compile()
        meter = _METERS.get(platform, _Allocator)()
        zeros = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype, device=leaf.sharding), rows)
        state = jax.block_until_ready(init(key, zeros))
        meter.begin()
        seconds = []
        for _ in range(STEPS):
            begun = time.perf_counter()
            state, _ = jax.block_until_ready(program(state, zeros, np.float32(0), step.learner.scales))
            seconds.append(time.perf_counter() - begun)
        flops = product_flops(program.as_text()) * jax.device_count() if platform == 'cpu' else None
        return cls(flops, meter.peak(), min(seconds))


class _Process:
    """Resident memory of this process, relative to its value at construction."""

    def __init__(self) -> None:
        self.begin()
        self._before = memory_status('VmRSS')

    def begin(self) -> None:
        """Return freed memory to the system, and reset the peak."""
        ctypes.CDLL(None).malloc_trim(0)
        _FORGET.write_text('5')

    def peak(self) -> int:
        return memory_status('VmHWM') - self._before


class _Allocator:
    """Memory allocated by JAX on all devices; its peak, set by a step, is never reset."""

    def begin(self) -> None:
        pass

    def peak(self) -> int:
        return sum(device.memory_stats()['peak_bytes_in_use'] for device in jax.devices())


_METERS: Mapping[str, Callable[[], _Process | _Allocator]] = {'cpu': _Process}


def memory_status(name: str) -> int:
    """Return the bytes of a line of the process's status, as VmRSS; on Linux."""
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(f'{name}:'))
    return int(line.split()[1]) * 1024
