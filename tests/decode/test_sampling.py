# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Filters against loops over sorted probabilities, and what is drawn against what should be."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.decode.sampling import Sampler, keep_min_p, keep_top_k, keep_top_p
from saccade.types import UserError

V = 23
DRAWS = 40_000
# A frequency out of DRAWS is further than this from its probability once in 15,000 times.
FOUR_SIGMA = 4 * 0.5 / DRAWS**0.5


def make_logits(seed, *batch):
    return jnp.asarray(np.random.default_rng(seed).normal(0, 2, (*batch, V)), jnp.float32)


def softmax(row):
    exponentials = np.exp(np.asarray(row, np.float64) - np.max(row))
    return exponentials / exponentials.sum()


def top_k_reference(row, k):
    return set(sorted(range(V), key=lambda token: -row[token])[:k])


def top_p_reference(row, p):
    probabilities, kept, covered = softmax(row), set(), 0.0
    for token in sorted(range(V), key=lambda token: -row[token]):
        if covered >= p:
            break
        kept.add(token)
        covered += probabilities[token]
    return kept


def min_p_reference(row, p):
    probabilities = softmax(row)
    return {token for token in range(V) if probabilities[token] >= p * probabilities.max()}


@pytest.mark.parametrize(
    ('keep', 'reference', 'settings'),
    [
        (keep_top_k, top_k_reference, (1, 2, 7, V)),
        (keep_top_p, top_p_reference, (0.01, 0.3, 0.9, 0.999)),
        (keep_min_p, min_p_reference, (0.003, 0.05, 0.4, 1.0)),
    ],
)
def test_a_filter_keeps_what_its_paper_says_and_changes_no_logit_it_keeps(keep, reference, settings):
    logits = make_logits(0, 3, 5)
    for setting in settings:
        kept = np.asarray(keep(logits, setting))
        for row, original in zip(kept.reshape(-1, V), np.asarray(logits).reshape(-1, V), strict=True):
            assert set(np.flatnonzero(np.isfinite(row))) == reference(original, setting)
            np.testing.assert_array_equal(row[np.isfinite(row)], original[np.isfinite(row)])


def test_of_equal_tokens_a_filter_keeps_no_more_than_it_was_asked_for():
    level = jnp.zeros((2, 8))
    assert np.isfinite(keep_top_k(level, 3)).tolist() == 2 * [3 * [True] + 5 * [False]]
    assert np.isfinite(keep_top_p(level, 0.5)).tolist() == 2 * [4 * [True] + 4 * [False]]


@pytest.mark.parametrize(
    'keep', [lambda x: keep_top_k(x, 1), lambda x: keep_top_p(x, 1e-30), lambda x: keep_min_p(x, 1.0)]
)
def test_the_most_probable_token_is_always_kept(keep):
    logits = make_logits(1, 6)
    kept = np.isfinite(keep(logits))
    assert kept.sum() == 6
    assert (kept.argmax(-1) == np.asarray(logits).argmax(-1)).all()


def test_more_tokens_than_there_are_keeps_all():
    assert np.isfinite(keep_top_k(make_logits(2, 4), 10 * V)).all()


@pytest.mark.long
def test_filters_follow_one_another_after_the_temperature():
    logits = make_logits(3, 50)
    kept = np.asarray(Sampler(0.5, top_k=9, top_p=0.95, min_p=0.02).filtered(logits))
    for row, original in zip(kept, 2 * np.asarray(logits), strict=True):
        expected = np.full(V, -np.inf)
        for reference, setting in ((top_k_reference, 9), (top_p_reference, 0.95), (min_p_reference, 0.02)):
            left = sorted(reference(original, setting))
            expected[:] = -np.inf
            expected[left] = original[left]
            original = expected.copy()
        assert set(np.flatnonzero(np.isfinite(row))) == set(np.flatnonzero(np.isfinite(expected)))


@pytest.mark.long
@pytest.mark.parametrize('sampler', [Sampler(), Sampler(0.7), Sampler(1.3, top_k=5), Sampler(1.0, 0, 0.8, 0.1)])
def test_tokens_come_as_often_as_they_are_probable(sampler):
    logits = make_logits(4)
    drawn = sampler(jnp.broadcast_to(logits, (DRAWS, V)), jax.random.key(0))
    frequencies = np.bincount(np.asarray(drawn), minlength=V) / DRAWS
    expected = softmax(np.asarray(sampler.filtered(logits)))
    np.testing.assert_allclose(frequencies, expected, atol=FOUR_SIGMA)
    assert (frequencies[expected == 0] == 0).all()


def test_temperature_sets_the_odds():
    logits = make_logits(5)
    np.testing.assert_allclose(softmax(Sampler(2.0).filtered(logits)), softmax(np.asarray(logits) / 2), rtol=1e-5)


@pytest.mark.long
def test_temperature_zero_is_the_most_probable_token_and_a_tiny_one_overflows_nothing():
    logits = 1e4 * make_logits(6, 9)
    best = np.asarray(logits).argmax(-1)
    assert (Sampler(0.0)(logits, jax.random.key(0)) == best).all()
    assert (Sampler(1e-37)(logits, jax.random.key(0)) == best).all()
    assert (Sampler(1e-37, 5, 0.9, 0.1)(logits, jax.random.key(0)) == best).all()


def test_bfloat16_logits_are_filtered_in_float32():
    assert Sampler(0.8, 5).filtered(make_logits(7).astype(jnp.bfloat16)).dtype == jnp.float32


@pytest.mark.parametrize(
    'setting',
    [
        {'temperature': -0.1},
        {'temperature': float('nan')},
        {'temperature': float('inf')},
        {'top_k': -1},
        {'top_p': 0.0},
        {'top_p': 1.01},
        {'min_p': -0.01},
        {'min_p': 1.5},
    ],
)
def test_a_setting_that_makes_no_sense_is_refused_by_name(setting):
    ((name, value),) = setting.items()
    with pytest.raises(UserError, match=f'^{name}: .*{value}'):
        Sampler(**setting)


def test_equal_samplers_are_one_static_argument():
    assert Sampler(0.5, 3) == Sampler(0.5, 3)
    assert hash(Sampler(0.5, 3)) == hash(Sampler(0.5, 3))
