# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Bag of words: texts compared by the cosine of how often each has each token; their order and meaning do not count.

    u[t] = count of token t in the text,   cos(u, v) = u · v / (|u| |v|)

Salton, Wong and Yang 1975, "A Vector Space Model for Automatic Indexing", https://doi.org/10.1145/361219.361220, with
plain counts. Nothing is learned. It is what sentence vectors are to be better than.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_matrix

_ROUNDING = 1e-12  # difference below which two cosines differ by the order of sums alone

Texts = Sequence[np.ndarray]  # the tokens of each


def similarities(first: Texts, second: Texts, vocabulary: int) -> Float[np.ndarray, '_']:
    """Return the cosine of each text with the other of its place; 0 where one has no token."""
    return np.asarray(_counts(first, vocabulary).multiply(_counts(second, vocabulary)).sum(axis=1))[:, 0]


def ranks(queries: Texts, corpus: Texts, vocabulary: int) -> Int[np.ndarray, '_']:
    """Return the rank of the text of its own place among all of the corpus, for each query, from 1."""
    cosines = (_counts(queries, vocabulary) @ _counts(corpus, vocabulary).T).toarray()
    return (cosines - np.diagonal(cosines)[:, None] > -_ROUNDING).sum(axis=-1)


def _counts(texts: Texts, vocabulary: int) -> csr_matrix:
    """Counts of the tokens of each text, with norm 1."""
    tokens = np.concatenate([np.zeros(0, np.int64), *texts])
    text = np.repeat(np.arange(len(texts)), [len(each) for each in texts])
    counts = csr_matrix((np.ones(len(tokens)), (text, tokens)), (len(texts), vocabulary))
    norms = np.sqrt(np.asarray(counts.multiply(counts).sum(axis=1)))
    return csr_matrix(counts.multiply(1.0 / np.maximum(norms, 1.0)))
