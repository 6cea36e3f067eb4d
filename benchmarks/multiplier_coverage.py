# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Coverage of the multipliers' intervals in simulated studies with a known truth.

    python -m benchmarks.multiplier_coverage

A run's metric decreases as a power of its cost, and is evaluated 20 times with a small error:

    metric(c) = 1 + 2 (k c)^-0.3 + evaluation noise,   k = exp(shared seed effect) x (variant: M exp(noise))

so the true multiplier of the variant is M. The noise of log k has the shapes of `coverage`; intervals need at least
five seeds.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import astuple, dataclass

import numpy as np

from benchmarks.coverage import NOISE
from saccade.analysis.report.interval import LEVEL
from saccade.analysis.report.multiplier import Course, log_interval, log_ratio

EVALUATIONS = 20
SPREAD = 0.2  # standard deviation of a variant's log k over seeds
SHARED = 0.3  # standard deviation of the shared seed effect
JITTER = 0.002  # standard deviation of an evaluation's error; the metric decreases from 3 to about 1.8

_RESAMPLES = 1000
_ROW = '{:22}{:>12}{:>7}{:>11}{:>9}{:>22}'
_COLUMNS = ('paired t', 'bias', 'percentile bootstrap')


@dataclass(frozen=True)
class Case:
    """Kind of study. Attributes: name of the noise; the true multiplier; seeds."""

    noise: str
    multiplier: float
    seeds: int

    def logs(self, generator: np.random.Generator) -> list[float]:
        """Return the log ratio of each seed of one simulated study, as the report computes it."""
        shared = SHARED * generator.standard_normal(self.seeds)
        noise = math.log(self.multiplier) + SPREAD * NOISE[self.noise](generator, (self.seeds,))
        pairs = zip(np.exp(shared + noise), np.exp(shared), strict=True)
        ratios = (log_ratio(_course(variant, generator), _course(baseline, generator)) for variant, baseline in pairs)
        return [ratio for ratio in ratios if ratio is not None]


@dataclass(frozen=True)
class Coverage:
    """Attributes: shares of intervals that contain the truth; bias of the mean log ratio."""

    interval: float
    bias: float
    percentile: float


def coverage(case: Case, studies: int, generator: np.random.Generator) -> Coverage:
    """Simulate `studies` studies of one kind."""
    truth = math.log(case.multiplier)
    found = [case.logs(generator) for _ in range(studies)]
    intervals = [log_interval(logs) for logs in found]
    return Coverage(
        interval=float(np.mean([interval is not None and interval.holds(truth) for interval in intervals])),
        bias=float(np.mean([np.mean(logs) for logs in found])) - truth,
        percentile=float(np.mean([_percentile(np.array(logs), truth, generator) for logs in found])),
    )


def cases() -> Iterator[Case]:
    """Yield the kinds of study of the table."""
    return itertools.starmap(Case, itertools.product(NOISE, (1.0, 1.5, 3.0), (5, 10)))


def main(studies: int = 2000) -> None:
    """Print the table, row by row."""
    print(f'Shares of {LEVEL:.0%} intervals of a multiplier that contain the truth, in {studies} studies each')
    print(_ROW.format('noise', 'multiplier', 'seeds', *_COLUMNS))
    for case in cases():
        found = coverage(case, studies, np.random.default_rng(0))
        shares = (f'{found.interval:.1%}', f'{found.bias:+.1%}', f'{found.percentile:.1%}')
        print(_ROW.format(*map(str, astuple(case)), *shares), flush=True)


def _course(k: float, generator: np.random.Generator) -> Course:
    cost = np.arange(1.0, EVALUATIONS + 1)
    metric = 1 + 2 * (k * cost) ** -0.3 + JITTER * generator.standard_normal(EVALUATIONS)
    return Course(cost, metric)


def _percentile(logs: np.ndarray, truth: float, generator: np.random.Generator) -> bool:
    drawn = generator.choice(logs, (_RESAMPLES, len(logs))).mean(axis=1)
    low, high = np.quantile(drawn, ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    return bool(low <= truth <= high)


if __name__ == '__main__':
    main()
