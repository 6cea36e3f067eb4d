# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Devices to compile for: the local devices, or the chips of a TPU slice without access to it.

A slice is named by its vendor's name, such as v5e:4x4 or v5p:4x4x4; `libtpu`, an extra, compiles for it.
"""

import importlib.util
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
from jax.experimental import topologies

from saccade.analysis.preflight.peak_rates import PeakRates
from saccade.train.device_memory import device_limit
from saccade.types import UserError

# Memory of one chip in GiB, by the start of JAX's device_kind; from the vendor's data sheets.
MEMORY = {
    'TPU v4': 32,
    'TPU v5 lite': 16,
    'TPU v5e': 16,
    'TPU v5': 95,
    'TPU v6': 32,
    'NVIDIA H100': 80,
    'NVIDIA H200': 141,
    'NVIDIA B200': 180,
}

# Otherwise libtpu queries Google's servers for the TPU type, warns without one, and loads in one process at a time.
COMPILE_ONLY = {
    'TPU_SKIP_MDS_QUERY': '1',
    'TPU_WORKER_HOSTNAMES': 'localhost',
    'TPU_ACCELERATOR_TYPE': 'v5litepod-16',
    'ALLOW_MULTIPLE_LIBTPU_LOAD': '1',
}


@dataclass(frozen=True)
class Chips:
    """Devices to compile for.

    Attributes: name; devices; memory of each in bytes, None if unknown; peak rates, None if unknown.
    """

    name: str
    devices: Sequence[Any]
    memory: int | None
    rates: PeakRates | None = None

    @property
    def platform(self) -> str:
        """Return JAX's name of the platform: cpu, gpu or tpu."""
        return self.devices[0].platform

    @property
    def foreign(self) -> bool:
        """True if the rates are of another chip than programs are compiled for."""
        return self.rates is not None and not self.devices[0].device_kind.startswith(self.rates.kind)

    def like(self, chip: str) -> 'Chips':
        """Return as many chips with this short name, such as h100; programs are still compiled for these devices.

        Raises:
            UserError: its rates are unknown.
        """
        rates = PeakRates.of_chip(chip)
        return replace(self, rates=rates, memory=memory_of(rates.kind))

    @classmethod
    def here(cls) -> 'Chips':
        """Return the local devices. Simulated devices share the memory of the host."""
        device, count = jax.devices()[0], jax.device_count()
        rates = PeakRates.of_host() if device.platform == 'cpu' else PeakRates.of_kind(device.device_kind)
        return cls(f'{count} x {device.device_kind}, here', jax.devices(), device_limit(), rates)

    @classmethod
    def of_slice(cls, topology: str) -> 'Chips':
        """Return the chips of a TPU slice.

        Raises:
            UserError: the slice does not exist, or libtpu is not installed.
        """
        if importlib.util.find_spec('libtpu') is None:
            raise UserError(f"--topology={topology}: compiling for TPUs needs libtpu: pip install -e '.[tpu]'")
        for name, value in COMPILE_ONLY.items():
            os.environ.setdefault(name, value)
        os.environ.pop('XLA_FLAGS', None)  # flags of this host; libtpu aborts on unknown flags
        try:
            devices = topologies.get_topology_desc(platform='tpu', topology_name=topology).devices
        except (jax.errors.JaxRuntimeError, ValueError, NotImplementedError) as error:
            raise UserError(
                f'--topology={topology}: no such TPU slice ({str(error).splitlines()[0]}); one is named v5e:4x4 or '
                f'v5p:4x4x4'
            ) from None
        kind = devices[0].device_kind
        return cls(f'{len(devices)} x {kind}, {topology}', devices, memory_of(kind), PeakRates.of_kind(kind))


def memory_of(kind: str) -> int | None:
    """Return the memory in bytes of a chip of JAX's device_kind; None if it is unknown."""
    memory = next((size for name, size in MEMORY.items() if kind.startswith(name)), None)
    return None if memory is None else memory * 2**30
