# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Retrieval metrics: recall@k and mean reciprocal rank (MRR), for queries with one relevant text each.

    recall@k = fraction of queries whose relevant text is among the top k,   MRR = mean of 1 / rank

Ranks count from 1. Texts with the same score as the relevant one, or with a score that cannot be compared with it
because one of the two is NaN, are ranked before it, so a model with constant scores retrieves nothing. E. Voorhees,
1999, The TREC-8 question answering track report, https://trec.nist.gov/pubs/trec8/papers/qa_report.pdf
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from saccade.metric.bootstrap import MetricInterval, of_mean
from saccade.types import UserError, declares, fraction

RECALLS = (1, 5, 10)
_BLOCK = 256  # queries per block of scores in memory

Vectors = Float[np.ndarray, '_ D']


def ranks(queries: Vectors, corpus: Vectors, right: Int[np.ndarray, '_']) -> Int[np.ndarray, '_']:
    """Return the rank of each query's relevant text (its index is in `right`) among the corpus, by the dot product."""
    found = []
    for start in range(0, len(queries), _BLOCK):
        scores = np.einsum('AD,BD->AB', queries[start : start + _BLOCK], corpus, optimize=True)
        own = np.take_along_axis(scores, right[start : start + _BLOCK, None], axis=-1)
        found.append((~(scores < own)).sum(axis=-1))
    return np.concatenate(found) if found else np.zeros(0, np.int64)


@declares(*(fraction(f'recall_at_{k}', 'split') for k in RECALLS), fraction('mrr', 'split'))
def retrieved(found: Int[np.ndarray, '_'], recalls: Sequence[int] = RECALLS) -> dict[str, MetricInterval]:
    """Return `mrr`, and `recall_at_k` for each k, from the ranks `found`.

    Raises:
        UserError: there are no queries.
    """
    if not len(found):
        raise UserError('there are no queries to measure retrieval on')
    at = {f'recall_at_{k}': of_mean((found <= k).astype(np.float64)) for k in recalls}
    return {**at, 'mrr': of_mean(1.0 / found)}
