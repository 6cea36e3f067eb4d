# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What a model predicts of rows: batch by batch on the device, and all of it together on the host."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import jax
import numpy as np

from saccade.types import Judge, Model, Params


def predictions(
    task: Judge, model: Model, params: Params, batches: Iterable[Mapping[str, np.ndarray]]
) -> dict[str, np.ndarray]:
    """Return what the task predicts of the rows of all batches, in order; axis 0 of each array is the rows."""
    predict = jax.jit(partial(task.predict, model))
    parts: list[Any] = [jax.tree.map(np.asarray, predict(params, rows)) for rows in batches]
    return jax.tree.map(lambda *arrays: np.concatenate(arrays), *parts)
