# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Skip-grams with negative sampling: the loss by plain loops, what is left out of it, and what comes of it."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.model.word_vectors import WordVectors
from saccade.task.skip_gram import SkipGram, closed_up

B, T, M, V, D = 2, 9, 4, 11, 6
CLOSE = 1e-5
MODEL = WordVectors(vocabulary=V, context_length=T, width=D)


def batch(**changes):
    random = np.random.default_rng(0)
    made = {
        'tokens': random.integers(0, V, (B, T)),
        'segments': np.array([[1, 1, 1, 1, 1, 2, 2, 2, 0], [1, 1, 1, 1, 0, 0, 0, 0, 0]]),
        'positions': np.tile(np.arange(T), (B, 1)),
        'noise': random.integers(0, V, (B, M)),
        'frequency': np.full((B, T), 0.1, np.float32),
    }
    return {name: jnp.asarray(array) for name, array in (made | changes).items()}


def params(number=1):
    random = np.random.default_rng(number)
    return {name: jnp.array(random.normal(size=(V, D)), jnp.float32) for name in ('embedding', 'context_embedding')}


def mean(task, given, train=False, key=0):
    return float(task.loss(MODEL, params(), given, jax.random.key(key), train)['loss'].mean())


def by_hand(given, window, negatives, kept=None):
    """Equation 4 for each pair of words, by how many windows of 1 to `window` words reach so far."""
    v, u = (np.asarray(params()[name], np.float64) for name in ('embedding', 'context_embedding'))
    total = weight = 0.0
    for b in range(B):
        noise = given['noise'][b]
        there = [t for t in range(T) if given['segments'][b, t] and (kept is None or kept[b, t])]
        for at, t in enumerate(there):
            for other, s in enumerate(there):
                if t == s or given['segments'][b, t] != given['segments'][b, s]:
                    continue
                reached = sum(abs(at - other) <= reach for reach in range(1, window + 1)) / window
                centre, context = v[given['tokens'][b, t]], u[given['tokens'][b, s]]
                pair = math.log1p(math.exp(-centre @ context))
                against = np.mean([math.log1p(math.exp(centre @ u[n])) for n in noise])
                total += reached * (pair + negatives * against)
                weight += reached
    return total / weight


@pytest.mark.long
@pytest.mark.parametrize(('window', 'negatives'), [(1, 1), (2, 5), (5, 3), (20, 2)])
def test_the_loss_is_the_closed_form(window, negatives):
    task = SkipGram(window=window, negatives=negatives, subsample=0.0)
    assert mean(task, batch()) == pytest.approx(by_hand(batch(), window, negatives), rel=CLOSE)


@pytest.mark.long
def test_what_is_no_word_is_left_out_before_windows_are_laid():
    frequency = np.full((B, T), 0.1, np.float32)
    frequency[0, 2] = frequency[1, 0] = 0
    task = SkipGram(window=1, negatives=2, subsample=0.0)
    given = batch(frequency=frequency)
    assert mean(task, given) == pytest.approx(by_hand(given, 1, 2, frequency > 0), rel=CLOSE)
    np.testing.assert_array_equal(
        closed_up(jnp.arange(4)[None], jnp.array([[1, 0, 1, 2]])), [[[0, 2, 3, 1]], [[1, 1, 2, 0]]]
    )


@pytest.mark.long
def test_without_subsampling_training_differs_by_the_order_of_the_noise_alone():
    task = SkipGram(window=2, negatives=5, subsample=0.0)
    given = batch()
    swapped = batch(noise=given['noise'][::-1])
    found = {round(mean(task, given, train=True, key=key), 4) for key in range(8)}
    assert found == {round(mean(task, each), 4) for each in (given, swapped)}


def test_a_word_stays_with_the_chance_of_the_paper():
    task = SkipGram(subsample=1e-3)
    frequency = jnp.repeat(jnp.array([[1e-4, 1e-3, 4e-3, 0.1]]).T, 4000, axis=1)
    stays = task.stays(frequency, jax.random.key(0)).mean(axis=1)
    np.testing.assert_allclose(stays, [1, 1, 0.5, 0.1], atol=0.03)


@pytest.mark.long
def test_frequent_words_are_left_out_in_training_alone():
    task = SkipGram(window=2, negatives=1, subsample=1e-6)
    weights = [task.loss(MODEL, params(), batch(), jax.random.key(0), train)['loss'].weight for train in (True, False)]
    assert weights[0] == 0  # of 13 words each stays with a chance of 0.003
    assert weights[1] > 10


@pytest.mark.long
def test_vectors_start_apart_and_contexts_from_nothing():
    found = SkipGram().init(MODEL, jax.random.key(0), batch())
    assert {name: leaf.shape for name, leaf in found.items()} == {'embedding': (V, D), 'context_embedding': (V, D)}
    assert not found['context_embedding'].any()
    assert float(found['embedding'].std()) > 0
    loss = SkipGram(negatives=5).loss(MODEL, found, batch(), jax.random.key(0), False)['loss']
    assert float(loss.mean()) == pytest.approx(6 * math.log(2), rel=CLOSE)
