# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Skip-gram with negative sampling: distinguish the words around a word from random noise words.

    loss = sum over pairs (t, s), 0 < |t - s| <= R, of  - log sigmoid(v_t . u_s) - k E_n log sigmoid(- v_t . u_n)

Mikolov et al. 2013, "Distributed Representations of Words and Phrases and their Compositionality", equations 4 and 5,
https://arxiv.org/abs/1310.4546, divided by the number of pairs. The paper draws k noise words per pair, and the radius
of each window from 1 to R. Here the loss takes k times the mean over all noise words of a row, and weights a pair by
the probability that a window includes it, which is equal in expectation. In training, frequent words are removed at
random before windows are formed. Cost: T (R + M) D per row, for M noise words.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from saccade.model.word_vectors import Vectors
from saccade.ops.padding import padding_last
from saccade.task.base import LOSS, Forward, TaskBase
from saccade.types import (
    Batch,
    Count,
    Metric,
    Model,
    NotNegative,
    PRNGKey,
    Tokens,
    Total,
)

__all__ = ['SkipGram']

Segments = Int[Array, 'B T']


@runtime_checkable
class WordModel(Model, Protocol):
    """Protocol of a skip-gram model: it maps tokens and noise words to vectors, from two tables."""

    def __call__(self, tokens: Tokens, noise: Int[Array, 'B M']) -> Vectors: ...


@dataclass(frozen=True)
class SkipGram(TaskBase):
    """Skip-gram with negative sampling.

    Attributes:
        window: radius in words (R).
        negatives: noise words per pair (k).
        subsample: t: a word of relative frequency f is kept with probability sqrt(t / f); 0 keeps all words.
    """

    window: Count = 5
    negatives: Count = 5
    subsample: NotNegative = 1e-5

    trains: ClassVar[tuple[type, str]] = (WordModel, 'word vectors')
    reads: ClassVar[tuple[str, ...]] = ('tokens', 'segments', 'frequency', 'noise')
    mixes_rows: ClassVar[str] = 'the noise words'
    reports: ClassVar[tuple[Metric, ...]] = (LOSS,)
    then: ClassVar[dict[str, str]] = {'nearest words': 'launch/embed.py {nearest}'}

    def inputs(self, model: WordModel, key: PRNGKey, batch: Batch) -> tuple[Any, ...]:
        """Return the arguments of the model's `init`, after the key."""
        return batch['tokens'], batch['noise']

    def totals(self, forward: Forward, batch: Batch) -> dict[str, Total]:
        """Return the total over pairs, in nats; in training, over the subsampled words."""
        is_word = (batch['segments'] != 0) & (batch['frequency'] > 0)
        noise = batch['noise']
        if forward.train:
            of_words, of_noise = jax.random.split(forward.key)
            is_word &= self.stays(batch['frequency'], of_words)
            # Roll the noise; otherwise the words of a row would meet the same noise in every epoch.
            noise = jnp.roll(noise, jax.random.randint(of_noise, (), 0, len(noise)), axis=0)
        tokens, segments = closed_up(batch['tokens'], jnp.where(is_word, batch['segments'], 0))
        vectors = forward(tokens, noise)
        return {'loss': self._contrast(vectors, segments)}

    def stays(self, frequency: Float[Array, 'B T'], key: PRNGKey) -> Bool[Array, 'B T']:
        """Return True for the words kept by subsampling: frequent words are dropped at random."""
        if not self.subsample:
            return jnp.ones(frequency.shape, bool)
        return jax.random.uniform(key, frequency.shape) < jnp.sqrt(self.subsample / jnp.maximum(frequency, 1e-30))

    def _contrast(self, vectors: Vectors, segments: Segments) -> Total:
        """Return the loss, with the total weight of its pairs."""
        v, u = (each.astype(jnp.float32) for each in (vectors.centres, vectors.contexts))
        total, weights = jnp.zeros(()), jnp.zeros(segments.shape)  # weights of each token's pairs as the centre
        for near, far, weight in self._pairs(segments):
            for centre, context in ((near, far), (far, near)):
                scores = jnp.einsum('BTD,BTD->BT', v[:, centre], u[:, context])
                total += (weight * jax.nn.softplus(-scores)).sum()
                weights = weights.at[:, centre].add(weight)
        against = jnp.einsum('BTD,BMD->BTM', v, vectors.noise.astype(jnp.float32))
        total += self.negatives * (weights * jax.nn.softplus(against).mean(axis=-1)).sum()
        return Total(total, weights.sum())

    def _pairs(self, segments: Segments) -> Iterator[tuple[slice, slice, Float[Array, 'B _']]]:
        """Yield, by distance, the slices of the first and the second words of pairs, and the weights of the pairs."""
        for distance in range(1, min(self.window, segments.shape[1] - 1) + 1):
            near, far = slice(None, -distance), slice(distance, None)
            together = (segments[:, near] == segments[:, far]) & (segments[:, far] != 0)
            yield near, far, together * (1 - (distance - 1) / self.window)


def closed_up(tokens: Int[Array, 'B T'], segments: Segments) -> tuple[Int[Array, 'B T'], Segments]:
    """Move padding and dropped words to the end of each row, so that the remaining words are adjacent."""
    order = padding_last(segments)
    return jnp.take_along_axis(tokens, order, axis=-1), jnp.take_along_axis(segments, order, axis=-1)
