# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Decomposition of hidden states into a temporal component, an input component and a residual.

    h_t = mu_t + chi_x + rest      mu_t = mean over rows of h_t,    chi_x = mean of h_t - mu_t over positions of token x
    q_t . k_s = (mu + chi + rest)_t . (mu + chi + rest)_s: nine terms of an attention score

Aitken, Ramasesh, Cao, Maheswaranathan 2021, "Understanding How Encoder-Decoder Architectures Attend", section 2,
https://arxiv.org/abs/2110.15253. Over the rows of the means, mu is orthogonal to the remainder, and chi to the
residual, so their shares of the squared norm sum to 1. Cost: 9 T S H per row.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

PARTS = ('temporal', 'input', 'rest')

States = Float[np.ndarray, 'B T H']
Real = Bool[np.ndarray, 'B T']


@dataclass(frozen=True, eq=False)
class Decomposed:
    """Hidden states as a sum of parts.

    Attributes: the parts, in the order of PARTS; mask of real states; the original states.
    """

    parts: Float[np.ndarray, '3 B T H']
    real: Real
    states: States

    @classmethod
    def of(cls, states: States, tokens: Int[np.ndarray, 'B T'], real: Real) -> 'Decomposed':
        """Decompose states by their position in the row and by their input token."""
        there = real[..., None]
        states = np.where(there, states.astype(np.float64), 0.0)
        temporal = np.where(there, states.sum(0) / np.maximum(real.sum(0), 1)[:, None], 0.0)
        driven = np.where(there, _mean_by(tokens, states - temporal, real), 0.0)
        return cls(np.stack([temporal, driven, states - temporal - driven]), real, states)

    def shares(self) -> Float[np.ndarray, '3']:
        """Return the shares of the parts in the squared norm of all states; they sum to 1."""
        return np.square(self.parts).sum((1, 2, 3)) / _nonzero(np.square(self.states).sum())

    def error(self) -> float:
        """Return the maximum absolute difference between the sum of the parts and the state."""
        return float(np.abs(self.parts.sum(0) - self.states).max())


@dataclass(frozen=True, eq=False)
class ScoreTerms:
    """Scores of a head, term by term.

    Attributes:
        terms: products by part of the query and part of the key.
        seen: mask of pairs of real tokens.
        scores: products of the whole states.
    """

    terms: Float[np.ndarray, '3 3 B T S']
    seen: Bool[np.ndarray, 'B T S']
    scores: Float[np.ndarray, 'B T S']

    @classmethod
    def of(cls, queries: Decomposed, keys: Decomposed, scale: float) -> 'ScoreTerms':
        """Compute the nine terms of each score."""
        terms = scale * np.einsum('iBTH,jBSH->ijBTS', queries.parts, keys.parts, optimize=True)
        scores = scale * np.einsum('BTH,BSH->BTS', queries.states, keys.states)
        return cls(terms, queries.real[:, :, None] & keys.real[:, None, :], scores)

    def shares(self) -> Float[np.ndarray, '3 3']:
        """Return the covariance of each term with the scores over the keys of a query, as shares that sum to 1.

        A constant over the keys of a query does not change its weights, so terms and scores are centred. A term that
        opposes the scores has a negative share.
        """
        scores, terms = self.centred(self.scores), self.centred(self.terms)
        return np.einsum('ijBTS,BTS->ij', terms, scores) / _nonzero(np.square(scores).sum())

    def alone(self) -> Float[np.ndarray, '3 3']:
        """Return the share of queries whose top key by score is also the top key by each single term."""
        best, bests = (np.where(self.seen, each, -np.inf).argmax(-1) for each in (self.scores, self.terms))
        asked = self.seen.any(-1)
        return ((bests == best) & asked).sum((-1, -2)) / _nonzero(asked.sum())

    def error(self) -> float:
        """Return the maximum absolute difference between the sum of the terms and the score."""
        return float(np.abs(self.terms.sum((0, 1)) - self.scores).max())

    def centred(self, scores: Float[np.ndarray, '*terms B T S']) -> Float[np.ndarray, '*terms B T S']:
        """Subtract the mean over the keys of a query."""
        mean = (scores * self.seen).sum(-1, keepdims=True) / np.maximum(self.seen.sum(-1, keepdims=True), 1)
        return np.where(self.seen, scores - mean, 0.0)


def _mean_by(tokens: Int[np.ndarray, 'B T'], states: States, real: Real) -> States:
    """Return, for each position, the mean of the states over all positions with the same token."""
    _, which = np.unique(tokens, return_inverse=True)
    which = which.reshape(tokens.shape)
    sums, counts = np.zeros((which.max() + 1, states.shape[-1])), np.zeros(which.max() + 1)
    np.add.at(sums, which[real], states[real])
    np.add.at(counts, which[real], 1)
    return (sums / np.maximum(counts, 1)[:, None])[which]


def _nonzero(number: np.number) -> float:
    return float(number) or 1.0
