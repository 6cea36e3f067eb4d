# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Retrieval metrics: recall@k and mean reciprocal rank (MRR), for queries with one or several relevant texts.

    recall@k = fraction of queries with a relevant text among the top k,   MRR = mean of 1 / rank

Ranks count from 1; the rank of a query is that of its best relevant text, among it and the texts that are not relevant.
Texts with the same score as this one, or with a score that cannot be compared with it because one of the two is NaN,
are ranked before it, so a model with constant scores retrieves nothing. E. Voorhees, 1999, The TREC-8 question
answering track report, https://trec.nist.gov/pubs/trec8/papers/qa_report.pdf

Rows that repeat a query or a text are one query or text, as an image with five captions (Karpathy & Li 2015, section
4.1, https://arxiv.org/abs/1412.2306): `Distinct`.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from saccade.metric.bootstrap import MetricInterval, of_mean
from saccade.types import UserError, declares, fraction

RECALLS = (1, 5, 10)
_BLOCK = 256  # queries per block of scores in memory

Vectors = Float[np.ndarray, '_ D']
# For each query the index of its relevant text, or several.
Relevant = Int[np.ndarray, '_'] | Sequence[Sequence[int]]


@dataclass(frozen=True)
class Distinct:
    """Distinct queries and texts of rows that are pairs of them.

    Attributes: queries, texts: the first row of each. right: the texts of each query, by index in `texts`.
    """

    queries: list[int]
    texts: list[int]
    right: list[list[int]]

    @classmethod
    def of(cls, queries: Sequence[Hashable], texts: Sequence[Hashable]) -> 'Distinct':
        """Return the distinct ones of rows with these queries and texts."""
        rows: tuple[dict, dict] = {}, {}
        for number, pair in enumerate(zip(queries, texts, strict=True)):
            for first, item in zip(rows, pair, strict=True):
                first.setdefault(item, number)
        places = {text: place for place, text in enumerate(rows[1])}
        right: dict[Hashable, dict[int, None]] = {query: {} for query in rows[0]}
        for query, text in zip(queries, texts, strict=True):
            right[query][places[text]] = None
        return cls([*rows[0].values()], [*rows[1].values()], [[*each] for each in right.values()])


def ranks(queries: Vectors, corpus: Vectors, right: Relevant) -> Int[np.ndarray, '_']:
    """Return the rank of the best of each query's relevant texts among the corpus, by the dot product."""
    found = []
    for start in range(0, len(queries), _BLOCK):
        block = slice(start, start + _BLOCK)
        found.append(ranks_of(np.einsum('AD,BD->AB', queries[block], corpus, optimize=True), right[block]))
    return np.concatenate(found) if found else np.zeros(0, np.int64)


def ranks_of(scores: Float[np.ndarray, 'A B'], right: Relevant, rounding: float = 0.0) -> Int[np.ndarray, 'A']:
    """Return the rank of the best of each query's relevant texts, by the scores of all.

    Args:
        rounding: scores that differ by less are equal.
    """
    relevant = np.zeros(scores.shape, bool)
    for row, texts in zip(relevant, right, strict=True):
        row[texts] = True
    best = np.where(relevant, scores, -np.inf).max(axis=-1, keepdims=True)
    return 1 + (~(scores < best - rounding) & ~relevant).sum(axis=-1)


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
