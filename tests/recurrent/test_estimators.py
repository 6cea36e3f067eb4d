# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Three estimators of the gradient of a choice beside the exact gradient: who is biased, and who varies."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.ops.reinforce import choices_in, surrogate
from saccade.studies.estimators import Estimates
from saccade.types import UserError

DRAWS = 20_000


@functools.cache
def estimates(name):
    return Estimates.of(name, DRAWS)


@pytest.mark.long
def test_reinforce_is_unbiased_and_a_baseline_lowers_its_variance():
    plain, better = estimates('REINFORCE'), estimates('REINFORCE, baseline')
    for found in (plain, better):
        assert found.bias < 4 * found.noise
    assert better.variance < 0.6 * plain.variance


@pytest.mark.parametrize('name', ['Gumbel, temperature 1', 'straight-through'])
def test_the_others_are_biased_and_vary_less(name):
    found = estimates(name)
    assert found.bias > 8 * found.noise
    assert found.variance < estimates('REINFORCE').variance


def test_the_lower_the_temperature_the_less_bias_and_the_more_variance():
    cold, warm = estimates('Gumbel, temperature 0.5'), estimates('Gumbel, temperature 1')
    assert cold.bias < warm.bias
    assert cold.variance > warm.variance


def test_a_choice_answers_for_the_losses_from_its_token_on():
    losses, weights = jnp.array([[1.0, 2.0, 4.0, 8.0]]), jnp.array([[1.0, 1.0, 1.0, 0.0]])

    def added(log_probability, baseline):
        return surrogate(losses, weights, {'log_probability': log_probability, 'baseline': baseline})

    by_choice, by_baseline = jax.grad(added, (0, 1))(jnp.zeros((1, 4)), jnp.array([[1.0, 1.0, 1.0, 1.0]]))
    np.testing.assert_array_equal(by_choice, [[6.0, 5.0, 3.0, 0.0]])
    np.testing.assert_array_equal(by_baseline, [[-6.0, -5.0, -3.0, 0.0]])


def test_the_losses_get_no_second_gradient():
    choices = dict.fromkeys(('log_probability', 'baseline'), jnp.ones((1, 2)))
    by_losses = jax.grad(lambda losses: surrogate(losses, jnp.ones((1, 2)), choices))(jnp.ones((1, 2)))
    np.testing.assert_array_equal(by_losses, 0.0)


def test_choices_are_found_wherever_they_are_reported():
    one, two = ({'log_probability': jnp.full((1, 1), number), 'baseline': jnp.zeros((1, 1))} for number in (1.0, 2.0))
    found = choices_in([{'decoder': {'attention': (one,)}, 'other': (two,)}])
    assert [choices['log_probability'].item() for choices in found] == [1.0, 2.0]
    assert choices_in([]) == []


def test_a_temperature_of_zero_is_refused():
    with pytest.raises(UserError, match='temperature must be above 0'):
        build({'use': 'recurrent.decoder.gumbel:Gumbel', 'temperature': 0.0})().init(jax.random.key(0), 1)
