# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The sampler of masked diffusion: with the exact denoiser its samples have the distribution of the data."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from enumerated import LENGTH, Denoiser, joint_of, sequences

from saccade.decode.diffuse import Diffused, Diffuser, denoised
from saccade.decode.sampling import Sampler
from saccade.types import UserError


def sampled(vocabulary, rows, steps, hidden=(True,) * LENGTH, sampler=Sampler(), seed=0):  # noqa: B008
    mask = vocabulary - 1
    tokens = jnp.where(jnp.array(hidden), mask, 0)
    row = {'tokens': tokens, 'segments': jnp.ones(LENGTH, int), 'positions': jnp.arange(LENGTH)}
    row['types'] = jnp.zeros(LENGTH, int)
    given = {name: jnp.tile(leaf, (rows, 1)) for name, leaf in row.items()}, jnp.array(hidden), jnp.int32(mask)
    never = jnp.arange(vocabulary) == mask
    tokens, passes = denoised(Denoiser(vocabulary), sampler, steps, {}, *given, never, jax.random.key(seed))
    return np.asarray(tokens), int(passes)


def shares(tokens, vocabulary):
    """The share of each sequence among the samples."""
    return (tokens[:, None] == sequences(vocabulary)).all(axis=-1).mean(axis=0)


@pytest.mark.long
@pytest.mark.parametrize('vocabulary', [3, 4])
def test_samples_have_the_distribution_of_the_data(vocabulary):
    tokens, _ = sampled(vocabulary, rows=2**13, steps=128)
    joint = joint_of(vocabulary)
    assert 0.5 * np.abs(shares(tokens, vocabulary) - joint).sum() < 0.03
    alone = np.prod([[(joint * (sequences(vocabulary)[:, place] == token)).sum() for place, token in enumerate(each)]
                     for each in sequences(vocabulary)], axis=1)  # fmt: skip
    assert 0.5 * np.abs(alone - joint).sum() > 0.1  # so that independent tokens would be told apart


def test_one_step_draws_the_tokens_independently():
    tokens, passes = sampled(3, rows=2**14, steps=1)
    ones = (joint_of(3)[:, None] * sequences(3)).sum(axis=0)
    np.testing.assert_allclose(tokens.mean(axis=0), ones, atol=0.02)
    np.testing.assert_allclose((tokens[:, 0] * tokens[:, 2]).mean(), ones[0] * ones[2], atol=0.02)
    assert passes == 1


@pytest.mark.long
def test_a_token_that_is_not_masked_stays_and_is_conditioned_on():
    tokens, _ = sampled(4, rows=2**13, steps=128, hidden=(True, False, True))
    assert (tokens[:, 1] == 0).all()
    joint = np.where(sequences(4)[:, 1] == 0, joint_of(4), 0.0)
    assert 0.5 * np.abs(shares(tokens, 4) - joint / joint.sum()).sum() < 0.03


def test_predictions_are_made_again_only_after_a_token_was_shown():
    for seed in range(5):
        _, passes = sampled(4, rows=1, steps=256, seed=seed)
        assert passes <= LENGTH


def test_greedy_samples_have_the_most_probable_tokens_that_may_be_sampled():
    tokens, _ = sampled(4, rows=3, steps=64, hidden=(False, False, True), sampler=Sampler(temperature=0.0))
    assert (tokens[:, 2] == joint_of(4)[:3].argmax()).all()


@pytest.mark.long
def test_a_text_is_continued(encoder, words):
    diffuser, key = Diffuser(*encoder, words, steps=4), jax.random.key(0)
    samples, passes = diffuser.write('the dog', key, max_tokens=3, samples=2)
    assert [len(sample.tokens) for sample in samples] == [3, 3]
    ordinary = set(range(words.size)) - {*words.specials.values()}
    assert {token for sample in samples for token in sample.tokens} <= ordinary
    assert 1 <= passes <= 4
    assert Diffused('the dog', tokens=3, steps=4)(*encoder, words, key).split()[:2] == ['the', 'dog']
    room = encoder[0].context_length - 2
    assert len(words.encode(Diffused('the dog', tokens=999, steps=4)(*encoder, words, key))) == room
    assert len(diffuser.write('the dog', key)[0][0].tokens) == room - 2
    with pytest.raises(UserError, match=f'2 tokens of the prompt and {room - 1} new ones do not fit'):
        diffuser.write('the dog', key, max_tokens=room - 1)
