# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Bag of words: cosine similarity of the token counts of two texts; order and meaning of tokens are ignored.

    u[t] = count of token t in the text,   cos(u, v) = u · v / (|u| |v|)

Salton, Wong and Yang 1975, "A Vector Space Model for Automatic Indexing", https://doi.org/10.1145/361219.361220, with
plain counts. Nothing is learned. It is the baseline for sentence vectors.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_matrix

from saccade.metric.retrieval import Relevant, ranks_of

_ROUNDING = 1e-12  # two cosines that differ by less are equal up to the order of summation

Texts = Sequence[np.ndarray]  # token ids of each text


def similarities(first: Texts, second: Texts, vocabulary: int) -> Float[np.ndarray, '_']:
    """Return the cosine of each pair of texts at the same index; 0 where one of them is empty."""
    return np.asarray(_counts(first, vocabulary).multiply(_counts(second, vocabulary)).sum(axis=1))[:, 0]


def ranks(queries: Texts, corpus: Texts, right: Relevant, vocabulary: int) -> Int[np.ndarray, '_']:
    """Return the rank of the best of each query's relevant texts among the corpus, as `metric.retrieval:ranks`."""
    cosines = (_counts(queries, vocabulary) @ _counts(corpus, vocabulary).T).toarray()
    return ranks_of(cosines, right, _ROUNDING)


def _counts(texts: Texts, vocabulary: int) -> csr_matrix:
    """Return the token counts of each text, scaled to norm 1."""
    tokens = np.concatenate([np.zeros(0, np.int64), *texts])
    text = np.repeat(np.arange(len(texts)), [len(each) for each in texts])
    counts = csr_matrix((np.ones(len(tokens)), (text, tokens)), (len(texts), vocabulary))
    norms = np.sqrt(np.asarray(counts.multiply(counts).sum(axis=1)))
    return csr_matrix(counts.multiply(1.0 / np.maximum(norms, 1.0)))
