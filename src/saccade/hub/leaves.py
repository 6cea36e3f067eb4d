# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters on the devices, filled from tensors that are read one at a time."""

import gc
import sys
import time
from collections.abc import Container, Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec, Sharding
from jaxtyping import Array

from saccade.ops.statistic import is_statistic

_PATIENCE = 0.2  # seconds until the host's memory is given up for lost


class Leaves:
    """Parameters by path. A stacked parameter is filled slice by slice on its devices, in place.

    Args:
        like: leaves by path, with a dtype and a sharding, which a parameter of the same path and shape takes.
        dtype: type of every other parameter, but for running statistics; these are on the default device.
        exact: paths of parameters that are in float32 whatever the dtype.
    """

    def __init__(self, like: Mapping[str, Any], dtype: str, exact: Container[str] = ()) -> None:
        self.arrays: dict[str, Array] = {}
        self._like, self._dtype, self._exact = like, dtype, exact

    def put(self, path: str, shape: tuple[int, ...], index: tuple[int, ...], piece: np.ndarray) -> None:
        """Copy a parameter, or a slice of it, to the devices; afterwards the host's array is not needed.

        Args:
            shape: shape of the whole parameter.
            index: index of the slice in the first axes of the parameter; () for the whole.
        """
        like = self._like.get(path)
        taken = like is not None and like.shape == shape
        usual = 'float32' if path in self._exact or is_statistic(path) else self._dtype
        dtype, sharding = (like.dtype, getattr(like, 'sharding', None)) if taken else (usual, None)
        references = _references(piece)
        whole = self.arrays.pop(path, None)
        whole = jnp.zeros(shape, dtype, device=sharding) if whole is None else whole
        # The array on the CPU may be the host's own memory, which is then copied.
        value = jax.device_put(piece, _of_slice(sharding, len(index)))
        self.arrays[path] = _filled(whole, value, index, sharding).block_until_ready()
        del value
        # JAX notes in another thread that it is done with an array, and lets go of it at a collection of garbage.
        until = time.monotonic() + _PATIENCE
        while _references(piece) > references and time.monotonic() < until:
            gc.collect(0)
            time.sleep(1e-5)


def _references(array: np.ndarray) -> int:
    """Return the number of references to an array, and to the memory that it is a view of."""
    return sys.getrefcount(array) + (0 if array.base is None else sys.getrefcount(array.base))


@partial(jax.jit, donate_argnums=0, static_argnums=3)
def _filled(whole: Array, piece: Array, index: tuple[Any, ...], sharding: Sharding | None) -> Array:
    start = (*index, *(0 for _ in piece.shape))
    made = jax.lax.dynamic_update_slice(whole, jnp.expand_dims(piece, range(len(index))).astype(whole.dtype), start)
    return made if sharding is None else jax.lax.with_sharding_constraint(made, sharding)


def _of_slice(sharding: Sharding | None, axes: int) -> Sharding | None:
    """Return the sharding of a slice, which lacks the first axes."""
    if axes and isinstance(sharding, NamedSharding):
        return NamedSharding(sharding.mesh, PartitionSpec(*sharding.spec[axes:]))
    return sharding
