# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Meter of training: metrics and speed between two readings, and a check for non-finite numbers."""

import math
import time
from collections import deque
from typing import ClassVar, SupportsFloat

import jax
import numpy as np
from jaxtyping import PyTree

from saccade.train.backend import Backend
from saccade.train.optimizer import path_of
from saccade.train.plan import RunPlan, peak_flops
from saccade.types import Metric, UserError

# Steps queued on the device before the host waits: enough to hide the host's work, few enough for little memory.
IN_FLIGHT = 2


class Meter:
    """Meter of the steps since the last reading: metrics, speed, and a check for non-finite numbers."""

    reports: ClassVar[tuple[Metric, ...]] = (
        Metric('tokens_per_second', 'highest', 0.0, unit='tokens/s'),
        Metric('mfu', 'highest', 0.0, 1.0),
    )

    def __init__(self, plan: RunPlan, backend: Backend) -> None:
        self._plan, self._backend, self._peak = plan, backend, peak_flops()
        self._leaves = [path_of(path) for path, _ in jax.tree_util.tree_leaves_with_path(backend.like.params)]
        self._unread: deque[tuple[int, PyTree]] = deque()
        self.restart()

    def restart(self) -> None:
        """Restart the clock, after work other than training."""
        self._since, self._steps = time.perf_counter(), 0.0

    def add(self, step: int, metrics: PyTree, share: float) -> None:
        """Add the metrics of a step, and its size relative to the planned step.

        Waits for the step IN_FLIGHT steps earlier and checks it, while the device executes the later ones.

        Raises:
            UserError: as for `check`.
        """
        self._unread.append((step, metrics))
        self._steps += share
        if len(self._unread) > IN_FLIGHT:
            self._require_finite(*self._unread.popleft())

    def check(self) -> dict[str, np.ndarray]:
        """Return the newest step's metrics, after checking all steps since the last call.

        Raises:
            UserError: a loss or a gradient is not finite; the message has the step and the first such leaf.
        """
        newest: PyTree = {}
        while self._unread:
            step, newest = self._unread.popleft()
            self._require_finite(step, newest)
        return self._backend.host(newest)

    def _require_finite(self, step: int, metrics: PyTree) -> None:
        if 'skipped_steps' in metrics:  # the optimizer skips a step that is not finite
            return
        squares, loss = self._backend.host((metrics['squares'], metrics['loss']))
        bad = np.flatnonzero(~np.isfinite(squares))
        if bad.size or not math.isfinite(loss):
            where = f'the gradient of {self._leaves[bad[0]]}' if bad.size else 'the loss'
            raise UserError(f'step {step}: {where} is not finite; lower the learning rate or clip the gradient')

    def read(self) -> dict[str, SupportsFloat]:
        """Return the newest step's metrics with the speed since the last reading."""
        metrics: dict[str, SupportsFloat] = {name: value for name, value in self.check().items() if name != 'squares'}
        seconds = time.perf_counter() - self._since
        metrics['tokens_per_second'] = self._steps * self._plan.tokens / seconds
        if self._peak:
            metrics['mfu'] = self._steps * self._plan.flops / seconds / self._peak
        self.restart()
        return metrics
