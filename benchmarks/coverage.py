# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Coverage of the report's intervals in simulated studies with a known truth.

python -m benchmarks.coverage            # some minutes; the table that `interval` speaks of
python -m benchmarks.coverage --bounds   # one-sided bounds of differences at five seeds
"""

import itertools
import sys
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass

import numpy as np

from saccade.analysis.report.interval import LEVEL, standard_residuals, t_quantiles

# Each has mean 0 and variance 1.
NOISE: dict[str, Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]] = {
    'normal': lambda generator, shape: generator.standard_normal(shape),
    'skewed (gamma 2)': lambda generator, shape: (generator.gamma(2.0, size=shape) - 2) / np.sqrt(2),
    'skewed (exponential)': lambda generator, shape: generator.exponential(size=shape) - 1,
    'heavy (t 3)': lambda generator, shape: generator.standard_t(3, size=shape) / np.sqrt(3),
}
LARGEST = 5.0  # standard deviation of the noisiest variant, for unequal variances; the smallest is 1
SHARED = 2.0  # standard deviation of the effect of a seed on all variants
STEP = 0.5  # difference of the true means of successive variants

BOUND = 0.95  # level of a one-sided bound

_DRAWS = 1000
_AT_ONCE = 100  # studies per batch
_COLUMNS = ('mean', 'worst', 'difference', 'to the picked best', 'percentile bootstrap')
_ROW = '{:22}{:>9}{:>7}{:>9}{:>8}{:>8}{:>8}{:>12}{:>20}{:>22}'


@dataclass(frozen=True)
class Case:
    """Kind of study. Attributes: name of the noise; variants; seeds; unequal deviations; shared seed effects."""

    noise: str
    variants: int
    seeds: int
    unequal: bool = False
    shared: bool = False

    def studies(self, count: int, generator: np.random.Generator, step: float = STEP) -> tuple[np.ndarray, np.ndarray]:
        """Return simulated values [studies, variants, seeds], and the true mean of each variant."""
        draw = NOISE[self.noise]
        scale = np.geomspace(1, LARGEST if self.unequal else 1, self.variants)[:, None]
        truth = step * np.arange(self.variants)
        values = truth[:, None] + scale * draw(generator, (count, self.variants, self.seeds))
        luck = SHARED * draw(generator, (count, 1, self.seeds)) if self.shared else 0.0
        return values + luck, truth


@dataclass(frozen=True)
class Coverage:
    """Coverage: shares of intervals that contain the truth.

    Attributes:
        mean: intervals of the variants' means.
        worst: intervals of the means of the variant with the lowest coverage.
        difference: intervals of differences to a variant chosen in advance.
        picked: intervals of differences to the variant with the lowest mean, if all true means are equal.
        percentile: percentile bootstrap intervals of the variants' means, for comparison.
    """

    mean: float
    worst: float
    difference: float
    picked: float
    percentile: float


def coverage(case: Case, studies: int, generator: np.random.Generator) -> Coverage:
    """Simulate `studies` studies of one kind."""
    values, truth = case.studies(studies, generator)
    ties, _ = case.studies(studies, generator, step=0.0)
    by_variant = covered(values, truth, generator).mean(axis=0)
    return Coverage(
        mean=by_variant.mean(),
        worst=by_variant.min(),
        difference=covered(values[:, 1:] - values[:, :1], truth[1:] - truth[0], generator).mean(),
        picked=covered(_to_lowest(ties), np.zeros(case.variants - 1), generator).mean(),
        percentile=_percentile(values, truth, generator).mean(),
    )


@dataclass(frozen=True)
class BoundCoverage:
    """Coverage of one-sided bounds: shares of lower, and of upper, bounds on the right side of the true mean.

    Attributes:
        paired: differences to a variant with noise of the same kind.
        constant: differences to a variant without noise, so that they have the skew of the noise.
    """

    paired: tuple[float, float]
    constant: tuple[float, float]


def bound_coverage(case: Case, studies: int, generator: np.random.Generator) -> BoundCoverage:
    """Simulate `studies` studies of one kind."""
    values, truth = case.studies(studies, generator)
    found = []
    for differences, true in ((values[:, 1:] - values[:, :1], truth[1:] - truth[0]), (values[:, 1:], truth[1:])):
        low, high, t = studentised(differences, true, generator, 2 * BOUND - 1)
        found.append(((t <= high).mean(), (t >= low).mean()))
    return BoundCoverage(*found)


def covered(values: np.ndarray, truth: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Return, for each study and variant, True if its interval contains the true mean."""
    low, high, t = studentised(values, truth, generator, LEVEL)
    return (low <= t) & (t <= high)


def studentised(
    values: np.ndarray, truth: np.ndarray, generator: np.random.Generator, level: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the two quantiles of each study, and the studentised error of each mean; a higher one than the upper
    quantile is a lower bound above the true mean."""
    count = values.shape[-1]
    pools = standard_residuals(values).reshape(len(values), -1)
    quantiles = [t_quantiles(pool, count, _DRAWS, generator, level) for pool in _portions(pools)]
    low, high = np.concatenate(quantiles, axis=-1)[..., None]
    t = (values.mean(axis=-1) - truth) / (values.std(axis=-1, ddof=1) / np.sqrt(count))
    return low, high, t


def cases() -> Iterator[Case]:
    """Yield the kinds of study of the table."""
    for noise, variants, seeds in itertools.product(NOISE, (2, 5, 9), (3, 5, 10)):
        for unequal, shared in itertools.product((False, True), repeat=2):
            yield Case(noise, variants, seeds, unequal, shared)


def main(studies: int = 2000) -> None:
    """Print the table, row by row."""
    print(f'Shares of {LEVEL:.0%} intervals that contain the truth, in {studies} studies each')
    print(_ROW.format('noise', 'variants', 'seeds', 'unequal', 'shared', *_COLUMNS))
    for case in cases():
        found = coverage(case, studies, np.random.default_rng(0))
        shares = (f'{share:.1%}' for share in astuple(found))
        print(_ROW.format(*map(str, astuple(case)), *shares), flush=True)


def print_bounds(studies: int = 4000) -> None:
    """Print the coverage of one-sided bounds at five seeds, row by row."""
    print(f'Shares of one-sided {BOUND:.0%} bounds that hold (lower, upper), 5 seeds, {studies} studies each')
    row = '{:22}{:>9}{:>10}{:>8}{:>12}{:>8}'
    print(row.format('noise', 'variants', 'paired', '', 'constant', ''))
    for noise, variants in itertools.product(NOISE, (2, 5, 9)):
        found = bound_coverage(Case(noise, variants, 5), studies, np.random.default_rng(0))
        print(row.format(noise, variants, *(f'{share:.1%}' for share in (*found.paired, *found.constant))), flush=True)


def _to_lowest(values: np.ndarray) -> np.ndarray:
    """Return the differences of the other variants to the one with the lowest mean of its study."""
    studies, variants, seeds = values.shape
    lowest = values.mean(axis=-1).argmin(axis=1)
    others = np.arange(variants) != lowest[:, None]
    differences = values - values[np.arange(studies), lowest][:, None]
    return differences[others].reshape(studies, variants - 1, seeds)


def _percentile(values: np.ndarray, truth: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    held = []
    for portion in _portions(values):
        places = generator.integers(0, values.shape[-1], (*portion.shape[:-1], _DRAWS * values.shape[-1]))
        drawn = np.take_along_axis(portion, places, axis=-1).reshape(*portion.shape[:-1], _DRAWS, -1)
        low, high = np.quantile(drawn.mean(axis=-1), ((1 - LEVEL) / 2, (1 + LEVEL) / 2), axis=-1)
        held.append((low <= truth) & (truth <= high))
    return np.concatenate(held)


def _portions(values: np.ndarray) -> Iterator[np.ndarray]:
    for start in range(0, len(values), _AT_ONCE):
        yield values[start : start + _AT_ONCE]


if __name__ == '__main__':
    print_bounds() if '--bounds' in sys.argv[1:] else main()
