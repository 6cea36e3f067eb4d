# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Error for a training step that exceeds the memory of its devices, with a batch size that fits."""

from dataclasses import replace

import jax

from saccade.train.device_memory import peak_bytes, readable, refused_bytes
from saccade.train.experiment import Experiment
from saccade.train.plan import LARGE
from saccade.train.setup import make_backend, row_shards
from saccade.types import UserError

TOO_LARGE = 1.5  # multiple of a device's memory above which a step is rejected: the analysis may overestimate


def too_large(experiment: Experiment, peak: int, limit: int) -> UserError:
    """Return the error for a step whose peak exceeds the limit of a device, both in bytes.

    Memory is assumed linear in the batch size, between this one and the smallest that the devices can share, which is
    compiled. The proposed size is below the margin at which a plan warns.
    """
    size, smallest = experiment.batch_size, row_shards(experiment) * experiment.accumulate
    least = peak if size == smallest else _peak_at(experiment, smallest)
    room = int(LARGE * limit)
    if least > room:
        remedy = f'even batch_size={smallest} needs {readable(least)}, so the model is too large'
    else:
        fitting = smallest + int((room - least) * (size - smallest) / (peak - least))
        remedy = f'batch_size={fitting // smallest * smallest} fits'
    return UserError(
        f'config.batch_size={size}: a step needs {readable(peak)} per device, but a device has {readable(limit)}; '
        f'{remedy}. launch/preflight.py shows other ways to save memory; --force starts the run regardless'
    )


def _peak_at(experiment: Experiment, batch_size: int) -> int:
    """Compile the step at another batch size, and return its peak in bytes."""
    try:
        step = make_backend(replace(experiment, batch_size=batch_size)).train_step
    except jax.errors.JaxRuntimeError as error:
        if (needed := refused_bytes(error)) is None:
            raise
        return needed
    return peak_bytes(step.memory_analysis(), jax.default_backend())
