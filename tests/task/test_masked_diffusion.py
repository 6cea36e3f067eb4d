# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Masked diffusion on vocabularies so small that the likelihood of every sequence is enumerated."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from enumerated import LENGTH, Denoiser, joint_of, sequences

from saccade.task.masked_diffusion import MaskedDiffusion

ROWS = 2**16
NEAR = 0.02  # of the bound: 65536 draws of noise, with times from 0.001
TASK = MaskedDiffusion()


def batch_of(tokens, mask):
    whole = jnp.ones(tokens.shape, jnp.int32)
    return {
        'tokens': jnp.asarray(tokens), 'segments': whole, 'words': whole,
        'positions': jnp.tile(jnp.arange(tokens.shape[1]), (len(tokens), 1)),
        'mask': jnp.full(len(tokens), mask), 'row': jnp.arange(len(tokens)),
    }  # fmt: skip


def drawn(vocabulary):
    """Sequences in the shares of the joint distribution, in a random order."""
    counts = np.round(joint_of(vocabulary) * ROWS).astype(int)
    return np.random.default_rng(0).permutation(np.repeat(sequences(vocabulary), counts, axis=0))


def loss_of(model, batch, train=True, key=0):
    totals = jax.jit(lambda batch: TASK.loss(model, {}, batch, jax.random.key(key), train))(batch)
    return {name: float(total.mean()) for name, total in totals.items()}


def by_orders(model):
    """log p of each sequence (of rows) if its tokens are predicted one after another, in each order (of columns)."""
    every, orders, mask = sequences(model.vocabulary), [*itertools.permutations(range(LENGTH))], model.vocabulary - 1
    found = np.zeros((len(every), len(orders)))
    for column, order in enumerate(orders):
        tokens = np.full_like(every, mask)
        for place in order:
            logits = np.array(model(tokens)[:, place], np.float64)[:, :mask]
            probabilities = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
            found[:, column] += np.log(probabilities[np.arange(len(every)), every[:, place]])
            tokens[:, place] = every[:, place]
    return found


@pytest.mark.long
@pytest.mark.parametrize('vocabulary', [3, 4])
def test_the_bound_is_the_likelihood_for_the_exact_denoiser(vocabulary):
    model, tokens = Denoiser(vocabulary), drawn(vocabulary)
    joint = joint_of(vocabulary)
    np.testing.assert_allclose(by_orders(model), np.log(joint)[:, None].repeat(6, axis=1), atol=1e-5)
    found = loss_of(model, batch_of(tokens, vocabulary - 1))['loss']
    np.testing.assert_allclose(found, -(joint * np.log(joint)).sum() / LENGTH, rtol=NEAR)


@pytest.mark.long
@pytest.mark.parametrize('vocabulary', [3, 4])
@pytest.mark.parametrize('power', [6.0, -2.0])
def test_the_bound_is_a_bound_for_another_denoiser(vocabulary, power):
    model, joint = Denoiser(vocabulary, power), joint_of(vocabulary)
    log_p = by_orders(model)
    likelihood = -(joint * np.log(np.exp(log_p).mean(axis=1))).sum() / LENGTH
    found = loss_of(model, batch_of(drawn(vocabulary), vocabulary - 1))['loss']
    np.testing.assert_allclose(found, -(joint * log_p.mean(axis=1)).sum() / LENGTH, rtol=NEAR)
    assert found > likelihood * (1 + NEAR)


def test_the_times_of_a_batch_are_spread_evenly():
    batch = batch_of(drawn(3)[:8], 2)
    times = np.sort(TASK.times(jax.random.key(3), batch, True))
    np.testing.assert_allclose(np.diff(times), (1 - TASK.epsilon) / 8, atol=1e-6)
    assert TASK.epsilon <= times[0] < times[-1] <= 1
    assert np.abs(TASK.times(jax.random.key(4), batch, True) - times).max() > 1e-3


@pytest.mark.long
def test_the_noise_of_an_evaluation_depends_only_on_the_row():
    model, batch = Denoiser(3, 0.5), batch_of(drawn(3)[::500], 2)
    whole = loss_of(model, batch, train=False)
    half = len(batch['row']) // 2
    halves = [{name: leaf[rows] for name, leaf in batch.items()} for rows in (slice(half), slice(half, 2 * half))]
    split = np.mean([loss_of(model, one, train=False, key=1)['loss'] for one in halves])
    np.testing.assert_allclose(split, whole['loss'], rtol=1e-5)
    times = np.sort(TASK.times(jax.random.key(0), batch, False))
    assert np.diff(times).max() < 3 / len(times)


@pytest.mark.long
def test_special_tokens_and_padding_are_not_masked_and_do_not_count():
    model, batch = Denoiser(3), batch_of(drawn(3)[::97], 2)
    words = batch['words'].at[:, 0].set(0)
    one = {**batch, 'words': words}
    found = loss_of(model, one)
    padded = {name: jnp.concatenate([leaf, leaf[:5]]) for name, leaf in one.items()}
    padded['words'] = padded['words'].at[-5:].set(0)
    given = loss_of(model, padded, train=False)['loss'], loss_of(model, one, train=False)['loss']
    np.testing.assert_allclose(*given, rtol=1e-5)
    joint = joint_of(3).reshape(2, 2, 2)
    conditional = -(joint * np.log(joint / joint.sum(axis=(1, 2), keepdims=True))).sum() / 2
    np.testing.assert_allclose(found['loss'], conditional, rtol=0.1)
