# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Classification metrics: accuracy, F1, Matthews correlation.

    F1_k = 2 hits_k / (p_k + t_k),   Matthews = (n h - Σ p_k t_k) / sqrt((n² - Σ p_k²) (n² - Σ t_k²))

Of n examples h are hits; t_k have class k and p_k are predicted as class k; sums are over the C classes. For two
classes this is Matthews, 1975, https://doi.org/10.1016/0005-2795(75)90109-9, for more the R_K of Gorodkin, 2004,
https://doi.org/10.1016/j.compbiolchem.2004.09.006. 0 / 0 is defined as 0, as in scikit-learn. All metrics are functions
of the sums of hits_k, p_k and t_k over examples, so only the tally of each example is resampled.
"""

from collections.abc import Sequence

import numpy as np
from einops import rearrange
from jaxtyping import Float, Int

from saccade.metric.bootstrap import MetricInterval, Number, of_sums, ratio
from saccade.nearest import listed
from saccade.types import Metric, UserError, declares, fraction

Labels = Int[np.ndarray, 'examples']
Tally = Float[np.ndarray, '... _']  # [... 3C]: hits, predicted and true, each by class


@declares(fraction('accuracy'), fraction('f1'), Metric('matthews', 'highest', -1.0, 1.0))
def classified(labels: Labels, predicted: Labels, names: Sequence[str]) -> dict[str, MetricInterval]:
    """Return `accuracy`, `f1` and `matthews`. F1 is of the second class for two classes, and the mean over more.

    Raises:
        UserError: a label is outside the named classes, or there are no examples.
    """
    tallies = tally(labels, predicted, names)
    f1 = positive_f1 if len(names) == 2 else macro_f1
    metrics = {'accuracy': accuracy, 'f1': f1, 'matthews': matthews}
    return {name: of_sums(tallies, statistic) for name, statistic in metrics.items()}


def majority(train: Labels, count: int) -> Int[np.ndarray, '_']:
    """Predict the most frequent class of the training labels (the first of equals) for `count` examples."""
    return np.full(count, np.bincount(train).argmax())


def tally(labels: Labels, predicted: Labels, names: Sequence[str]) -> Float[np.ndarray, 'examples _']:
    """Return the contribution of each example to the sums.

    Raises:
        UserError: a label is outside the named classes.
    """
    for what, classes in (('label', labels), ('predicted label', predicted)):
        (strange,) = np.nonzero((classes < 0) | (classes >= len(names)))
        if len(strange):
            raise UserError(
                f'{what} {classes[strange[0]]} of example {strange[0]} (from 0) is none of the {len(names)} classes '
                f'0 to {len(names) - 1}: {listed(names)}'
            )
    true, guessed = (np.equal.outer(classes, np.arange(len(names))) for classes in (labels, predicted))
    return np.concatenate([true & guessed, guessed, true], axis=-1).astype(np.float64)


def accuracy(sums: Tally) -> Number:
    """Return the fraction of hits."""
    hits, _, true = _by_class(sums)
    return ratio(hits.sum(axis=-1), true.sum(axis=-1))


def class_f1(sums: Tally) -> Float[np.ndarray, '... C']:
    """Return the F1 of each class."""
    hits, predicted, true = _by_class(sums)
    return ratio(2 * hits, predicted + true)


def positive_f1(sums: Tally) -> Number:
    """Return the F1 of the second of two classes, the positive one."""
    return class_f1(sums)[..., 1]


def macro_f1(sums: Tally) -> Number:
    """Return the mean F1 of the classes that occur among the labels or the predictions."""
    _, predicted, true = _by_class(sums)
    return ratio(class_f1(sums).sum(axis=-1), np.count_nonzero(predicted + true, axis=-1))


def matthews(sums: Tally) -> Number:
    """Return the Matthews correlation of predictions and labels; 0 where either is constant."""
    hits, predicted, true = _by_class(sums)
    count = true.sum(axis=-1)
    together = count * hits.sum(axis=-1) - (predicted * true).sum(axis=-1)
    spread = (count**2 - (predicted**2).sum(axis=-1)) * (count**2 - (true**2).sum(axis=-1))
    return ratio(together, np.sqrt(spread))


def _by_class(sums: Tally) -> Float[np.ndarray, '3 ... C']:
    return rearrange(sums, '... (kind C) -> kind ... C', kind=3)
