# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Uniform random numbers by Philox, whose raw output is the same in every release of NumPy."""

from collections.abc import Callable

import numpy as np

Uniform = Callable[..., np.ndarray]  # shape -> numbers in [0, 1)


def uniform(seed: int, split: int = 0, row: int = 0) -> Uniform:
    """Return an independent source of numbers in [0, 1) for each seed, split and row."""
    source = np.random.Philox(key=seed, counter=[0, split, row, 0])
    return lambda *shape: (source.random_raw(shape) >> np.uint64(11)) * 2.0**-53
