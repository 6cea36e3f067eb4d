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
from saccade.types import UserError

DRAWS = 20_000
SCORES = jnp.array([0.5, -0.3, 1.0, 0.1])
LOSSES = jnp.array([1.0, 2.5, 0.3, 4.0])  # of each choice, in nats: not linear in what is read
ESTIMATORS = {
    'reinforce': {'use': 'recurrent.reinforce:Reinforce'},
    'gumbel': {'use': 'recurrent.gumbel:Gumbel', 'temperature': 1.0},
    'straight-through': {'use': 'recurrent.straight_through:StraightThrough'},
}


def loss_of(weights):
    """The loss of what is read; at one-hot weights it is one of LOSSES, and in between it is bent."""
    return jnp.square(weights @ jnp.sqrt(LOSSES))


EXACT = jax.grad(lambda scores: jax.nn.softmax(scores) @ LOSSES)(SCORES)


@functools.cache
def estimates(name, baseline=0.0):
    """Gradients by the scores, one a draw."""
    module = build(ESTIMATORS[name])()
    params = module.init(jax.random.key(0), 1)
    if name == 'reinforce':
        params = {'params': params['params'] | {'bias': jnp.array([baseline])}}
    estimator = module.apply(params, 1)

    def sampled(scores, key):
        odds = jax.nn.softmax(scores)[None, None]
        chosen, choices = estimator(odds, jnp.zeros((1, 1, 1)), key)
        loss = loss_of(chosen[0, 0])
        return loss + (surrogate(loss[None, None], jnp.ones((1, 1)), choices) if choices else 0.0)

    keys = jax.random.split(jax.random.key(1), DRAWS)
    return np.asarray(jax.jit(jax.vmap(jax.grad(sampled), (None, 0)))(SCORES, keys))


def bias(found):
    """The distance of the mean from the exact gradient, and four standard errors of it."""
    return np.linalg.norm(found.mean(0) - EXACT), 4 * np.sqrt(variance(found) / DRAWS)


def variance(found):
    return found.var(axis=0).sum()


def test_reinforce_is_unbiased_and_a_baseline_lowers_its_variance():
    plain, better = estimates('reinforce'), estimates('reinforce', baseline=float(jax.nn.softmax(SCORES) @ LOSSES))
    for found in (plain, better):
        away, noise = bias(found)
        assert away < noise
    assert variance(better) < 0.6 * variance(plain)


@pytest.mark.parametrize('name', ['gumbel', 'straight-through'])
def test_the_others_are_biased_and_vary_less(name):
    away, noise = bias(estimates(name))
    assert away > 2 * noise
    assert variance(estimates(name)) < variance(estimates('reinforce'))


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
    found = choices_in({'choices': {'decoder': {'attention': (one,)}, 'other': (two,)}})
    assert [choices['log_probability'].item() for choices in found] == [1.0, 2.0]
    assert choices_in({'losses': {}}) == []


def test_a_temperature_of_zero_is_refused():
    with pytest.raises(UserError, match='temperature must be above 0'):
        build({'use': 'recurrent.gumbel:Gumbel', 'temperature': 0.0})().init(jax.random.key(0), 1)
