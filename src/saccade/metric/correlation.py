# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Regression metrics: Pearson and Spearman correlation, mean squared error.

Spearman correlation is Pearson correlation of ranks; equal numbers share their mean rank. The correlation with a
constant, 0 / 0, is defined as 0, since a constant prediction carries no information; SciPy returns NaN. If a number is
NaN, both correlations are NaN; if one is infinite, Pearson's is.
"""

import numpy as np
from jaxtyping import Float

from saccade.metric.bootstrap import MetricInterval, Number, of_examples
from saccade.types import Metric, declares

Values = Float[np.ndarray, 'examples']
Pairs = Float[np.ndarray, '... examples 2']

_ROUNDING = 1e-12  # relative spread below which numbers are equal up to rounding


@declares(
    Metric('pearson', 'highest', -1.0, 1.0),
    Metric('spearman', 'highest', -1.0, 1.0),
    Metric('mean_squared_error', 'lowest', 0.0),
)
def correlated(values: Values, predicted: Values) -> dict[str, MetricInterval]:
    """Return `pearson`, `spearman` and `mean_squared_error`, the last in squares of the values' unit.

    Raises:
        UserError: there are no examples.
    """
    pairs = _paired(values, predicted)
    metrics = {'pearson': _correlation, 'spearman': _rank_correlation, 'mean_squared_error': _mean_squared_error}
    return {name: of_examples(pairs, statistic) for name, statistic in metrics.items()}


def pearson(values: Values, predicted: Values) -> float:
    """Return the Pearson correlation."""
    return float(_correlation(_paired(values, predicted)))


def spearman(values: Values, predicted: Values) -> float:
    """Return the Spearman correlation."""
    return float(_rank_correlation(_paired(values, predicted)))


def mean_squared_error(values: Values, predicted: Values) -> float:
    """Return the mean of the squared differences, in squares of the values' unit."""
    return float(_mean_squared_error(_paired(values, predicted)))


def _paired(values: Values, predicted: Values) -> Pairs:
    return np.stack([values, predicted], axis=-1).astype(np.float64)


def _correlation(pairs: Pairs) -> Number:
    # Scale to mean 0 and norm 1, or 0 for a constant. Divide by the spread first, since squares may overflow.
    largest = np.abs(pairs).max(axis=-2, keepdims=True)
    with np.errstate(invalid='ignore'):  # infinity minus infinity is NaN, and the correlation is NaN too
        spread = np.ptp(pairs, axis=-2, keepdims=True)
        constant = (spread <= _ROUNDING * largest) & np.isfinite(largest)
        centred = (pairs - pairs.mean(axis=-2, keepdims=True)) / np.where(constant, 1, spread)
    norm = np.linalg.norm(centred, axis=-2, keepdims=True)
    standardised = np.where(constant, 0, centred / np.where(constant, 1, norm))
    return np.clip(standardised.prod(axis=-1).sum(axis=-1), -1, 1)


def _rank_correlation(pairs: Pairs) -> Number:
    from scipy.stats import rankdata

    return _correlation(rankdata(pairs, axis=-2))


def _mean_squared_error(pairs: Pairs) -> Number:
    return ((pairs[..., 0] - pairs[..., 1]) ** 2).mean(axis=-1)
