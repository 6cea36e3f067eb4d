# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Costs of a run: steps, tokens, FLOPs and seconds of training."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from saccade.analysis.report.runs import Trial

Amounts = np.ndarray | None


def seconds(trial: Trial, steps: Sequence[int]) -> Amounts:
    """Return the seconds of training up to each step: tokens over tokens per second, summed over the train records.

    Evaluation, compilation and waiting are excluded. NaN after the last train record.
    """
    records = trial.of('train')
    speeds = [record.get('tokens_per_second', math.nan) for record in records]
    if trial.plan is None or not speeds or not all(0 < speed < math.inf for speed in speeds):
        return None
    ends = np.array([0, *(record['step'] for record in records)], np.float64)
    spent = np.cumsum([0, *(np.diff(ends) * trial.plan['tokens'] / np.array(speeds))])
    return np.interp(steps, ends, spent, right=math.nan)


def speed(trial: Trial) -> float | None:
    """Return the tokens per second of all logged training."""
    step = max((record['step'] for record in trial.of('train')), default=0)
    spent = seconds(trial, [step])
    return step * trial.plan['tokens'] / float(spent[0]) if spent is not None and step else None


def _times(name: str) -> Callable[[Trial, Sequence[int]], Amounts]:
    def amounts(trial: Trial, steps: Sequence[int]) -> Amounts:
        return None if trial.plan is None else np.asarray(steps, np.float64) * trial.plan[name]

    return amounts


# Costs for the x axis of learning curves. None: the run did not log it.
SPENT: dict[str, Callable[[Trial, Sequence[int]], Amounts]] = {
    'steps': lambda trial, steps: np.asarray(steps, np.float64),
    'tokens': _times('tokens'),
    'FLOPs': _times('flops'),
    'time': seconds,
}
