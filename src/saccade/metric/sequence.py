# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sequence-labelling metrics: the fraction of correct labels, and of fully correct sequences."""

from collections.abc import Sequence

import numpy as np

from saccade.metric.bootstrap import MetricInterval, of_mean, of_sums, ratio
from saccade.types import declares, fraction

__all__ = ['matched']

Labels = Sequence[str]


@declares(fraction('token_accuracy'), fraction('exact_match'))
def matched(gold: Sequence[Labels], predicted: Sequence[Labels], /) -> dict[str, MetricInterval]:
    """Return `token_accuracy` and `exact_match`, the share of the sequences that are right in every place.

    Raises:
        UserError: there are no sequences.
    """
    right = [[label == guess for label, guess in zip(*pair, strict=True)] for pair in zip(gold, predicted, strict=True)]
    counts = np.array([[sum(each), len(each)] for each in right], np.int64).reshape(len(right), 2)
    return {
        'token_accuracy': of_sums(counts, lambda sums: ratio(sums[..., 0], sums[..., 1])),
        'exact_match': of_mean(np.array([all(each) for each in right], np.float64)),
    }
