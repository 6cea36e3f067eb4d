# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Skip-gram with negative sampling: tell the words around a word from words that are drawn as noise.

    loss = sum over pairs (t, s), 0 < |t - s| <= R, of  - log sigmoid(v_t . u_s) - k E_n log sigmoid(- v_t . u_n)

Mikolov et al. 2013, "Distributed Representations of Words and Phrases and their Compositionality", equations 4 and 5,
https://arxiv.org/abs/1310.4546, divided by the number of pairs. They draw k noise words for each pair, and the reach of
each window from 1 to R; ours takes the mean over all noise words of a row, times k, and weighs a pair by the chance
that a window reaches so far: the same in expectation. Frequent words are left out by chance, in training, before
windows are laid. Cost: T (R + M) D a row, for M noise words.
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
    Params,
    PRNGKey,
    Tokens,
    Total,
)

__all__ = ['SkipGram']

Segments = Int[Array, 'B T']


@runtime_checkable
class WordModel(Model, Protocol):
    """Protocol of a skip-gram model: it maps tokens and noise words to their vectors, of a table each."""

    def __call__(self, tokens: Tokens, noise: Int[Array, 'B M']) -> Vectors: ...


@dataclass(frozen=True)
class SkipGram(TaskBase):
    """Skip-gram with negative sampling.

    Attributes:
    window: R, words on either side.
    negatives: k, noise words a pair.
    subsample: t: a word whose share of the text is f stays with the chance sqrt(t / f); 0 keeps all.
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

    def totals(
        self, forward: Forward, model: WordModel, params: Params, batch: Batch, key: PRNGKey
    ) -> dict[str, Total]:
        """Return the total over pairs, in nats; in training, of the words that are left."""
        is_word = (batch['segments'] != 0) & (batch['frequency'] > 0)
        noise = batch['noise']
        if forward.train:
            of_words, of_noise = jax.random.split(key)
            is_word &= self.stays(batch['frequency'], of_words)
            # Otherwise the words of a row would meet the same noise in every epoch.
            noise = jnp.roll(noise, jax.random.randint(of_noise, (), 0, len(noise)), axis=0)
        tokens, segments = closed_up(batch['tokens'], jnp.where(is_word, batch['segments'], 0))
        vectors = forward(model, params, tokens, noise, key=key)
        return {'loss': self._told_apart(vectors, segments)}

    def stays(self, frequency: Float[Array, 'B T'], key: PRNGKey) -> Bool[Array, 'B T']:
        """Return which words are kept: frequent ones are dropped at random (subsampling)."""
        if not self.subsample:
            return jnp.ones(frequency.shape, bool)
        return jax.random.uniform(key, frequency.shape) < jnp.sqrt(self.subsample / jnp.maximum(frequency, 1e-30))

    def _told_apart(self, vectors: Vectors, segments: Segments) -> Total:
        """The loss, and the weight of its pairs."""
        v, u = (each.astype(jnp.float32) for each in (vectors.centres, vectors.contexts))
        total, weights = jnp.zeros(()), jnp.zeros(segments.shape)  # of each token's pairs as the centre
        for near, far, weight in self._pairs(segments):
            for centre, context in ((near, far), (far, near)):
                scores = jnp.einsum('BTD,BTD->BT', v[:, centre], u[:, context])
                total += (weight * jax.nn.softplus(-scores)).sum()
                weights = weights.at[:, centre].add(weight)
        against = jnp.einsum('BTD,BMD->BTM', v, vectors.noise.astype(jnp.float32))
        total += self.negatives * (weights * jax.nn.softplus(against).mean(axis=-1)).sum()
        return Total(total, weights.sum())

    def _pairs(self, segments: Segments) -> Iterator[tuple[slice, slice, Float[Array, 'B _']]]:
        """By distance, the places of the first words of pairs and of the second ones, and the weight of each pair."""
        for distance in range(1, min(self.window, segments.shape[1] - 1) + 1):
            near, far = slice(None, -distance), slice(distance, None)
            together = (segments[:, near] == segments[:, far]) & (segments[:, far] != 0)
            yield near, far, together * (1 - (distance - 1) / self.window)


def closed_up(tokens: Int[Array, 'B T'], segments: Segments) -> tuple[Int[Array, 'B T'], Segments]:
    """Move what is in no segment to the end of each row, so that others become neighbours."""
    order = padding_last(segments)
    return jnp.take_along_axis(tokens, order, axis=-1), jnp.take_along_axis(segments, order, axis=-1)
