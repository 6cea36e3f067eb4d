# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Statistics: which parameters are, what moves them, and how gradients pass them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.ops.statistic import centre, follow, is_statistic, move, rescale

NEAR = 1e-5
RANDOM = np.random.default_rng(0)
X, DY = (jnp.array(3.0 * RANDOM.normal(size=(2, 5, 4)) + 1.0, jnp.float32) for _ in range(2))
OLD, NEW = (jnp.array(RANDOM.normal(size=4), jnp.float32) for _ in range(2))


@pytest.mark.parametrize(
    ('path', 'found'),
    [
        ('layers/pattern_0/feedforward/router/balance_bias', True),
        ('norm/running_square', True),
        ('running_mean', True),
        ('norm/bias', False),
        ('norm/scale', False),
        ('running_mean/up', False),
        ('layers/pattern_0/mixer/unbalance_bias', False),
    ],
)
def test_a_statistic_is_known_by_its_name(path, found):
    assert is_statistic(path) == found


def test_a_move_is_a_loss_of_zero_with_a_step_of_its_own():
    value, gradient = jax.value_and_grad(lambda old: move(old, NEW))(OLD)
    assert value == 0.0
    np.testing.assert_allclose(OLD - gradient, NEW, atol=NEAR)
    assert not jax.grad(lambda new: move(OLD, new))(NEW).any()


def test_following_keeps_the_momentum_and_takes_the_rest_from_the_batch():
    gradient = jax.grad(lambda running: follow(running, X, 0.75).mean())(OLD)
    np.testing.assert_allclose(OLD - gradient, 0.75 * OLD + 0.25 * np.mean(X, axis=(0, 1)), atol=NEAR)
    assert not jax.grad(lambda x: follow(OLD, x, 0.75).mean())(X).any()


def batch_norm(x):
    centred = x - x.mean(axis=(0, 1))
    return centred / jnp.sqrt(jnp.square(centred).mean(axis=(0, 1)))


def power_norm(x):
    return x / jnp.sqrt(jnp.square(x).mean(axis=(0, 1)))


@pytest.mark.long
def test_where_running_statistics_are_those_of_the_batch_gradients_are_those_of_batch_normalisation():
    mean = X.mean(axis=(0, 1))
    variance, square = X.var(axis=(0, 1)), jnp.square(X).mean(axis=(0, 1))
    for ours, exact in (
        (lambda x: rescale(centre(x, mean), variance), batch_norm),
        (lambda x: rescale(x, square), power_norm),
    ):
        (y, pull), (expected, pull_exactly) = jax.vjp(ours, X), jax.vjp(exact, X)
        np.testing.assert_allclose(y, expected, atol=NEAR)
        np.testing.assert_allclose(pull(DY)[0], pull_exactly(DY)[0], atol=NEAR)


def test_the_gradient_does_not_grow_what_is_divided_away_and_is_finite_for_a_feature_of_zeros():
    x, square = X.at[..., 0].set(0.0), 0.3 * jnp.ones(4)
    y, pull = jax.vjp(lambda x: rescale(x, square), x)
    (dx,) = pull(DY)
    np.testing.assert_allclose((dx * y).sum(axis=(0, 1)), 0.0, atol=1e-3)
    assert np.isfinite(dx).all()
    assert not any(jax.grad(lambda s: (rescale(x, s) * DY).sum())(square))


def test_a_batch_of_padding_alone_moves_nothing_out_of_bounds():
    nothing = jnp.zeros(X.shape[:2], bool)
    assert np.isfinite(jax.grad(lambda running: follow(running, X, 0.75, nothing).mean())(OLD)).all()
    y, pull = jax.vjp(lambda x: rescale(centre(x, OLD, nothing), jnp.ones_like(OLD), nothing), X)
    assert np.isfinite(pull(jnp.ones_like(y))[0]).all()
