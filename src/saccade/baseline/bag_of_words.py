# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Bag of words: texts compared by the cosine of how often each has each token; their order and meaning do not count.

    u[t] = count of token t in the text,   cos(u, v) = u · v / (|u| |v|)

Salton, Wong and Yang 1975, "A Vector Space Model for Automatic Indexing", https://doi.org/10.1145/361219.361220, with
plain counts. Nothing is learned. It is what sentence vectors are to be better than.
"""

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from saccade.data.rows.ragged import Ragged
from saccade.metric.correlation import correlated
from saccade.metric.retrieval import RECALLS


def similarity(train: Any, validation: Any, vocabulary: int, highest: float = 1.0) -> dict[str, float]:
    """Return metrics of the cosines of pairs of texts beside their values; `loss` is that of cosine regression.

    Args:
        highest: the value of two texts that mean the same.
    """
    first, second = (_counts(texts, vocabulary) for texts in validation.rows.texts)
    predicted = highest * np.asarray(first.multiply(second).sum(axis=1))[:, 0]
    measured = {name: each.value for name, each in correlated(validation.answers, predicted).items()}
    return {'loss': measured['mean_squared_error'] / highest**2, **measured}


def retrieval(train: Any, validation: Any, vocabulary: int) -> dict[str, float]:
    """Return how well the first text of each example finds its second among those of the whole split."""
    first, second = (_counts(texts, vocabulary) for texts in validation.rows.texts[:2])
    own = np.asarray(first.multiply(second).sum(axis=1))
    ranks = (((first @ second.T).toarray() - own) > -_ROUNDING).sum(axis=1)
    return {**{f'recall_at_{k}': float((ranks <= k).mean()) for k in RECALLS}, 'mrr': float((1 / ranks).mean())}


_ROUNDING = 1e-12  # difference below which two cosines differ by the order of sums alone


def _counts(texts: Ragged, vocabulary: int) -> csr_matrix:
    """Counts of the tokens of each text, with norm 1."""
    tokens = np.concatenate([np.zeros(0, np.int64), *texts])
    text = np.repeat(np.arange(len(texts)), texts.lengths)
    counts = csr_matrix((np.ones(len(tokens)), (text, tokens)), (len(texts), vocabulary))
    norms = np.sqrt(np.asarray(counts.multiply(counts).sum(axis=1)))
    return csr_matrix(counts.multiply(1.0 / np.maximum(norms, 1.0)))
