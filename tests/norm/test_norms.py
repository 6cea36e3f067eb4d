# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Each normalisation against its equation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.norm.batch import BatchNorm
from saccade.norm.dynamic_tanh import DynamicTanh
from saccade.norm.group import GroupNorm
from saccade.norm.group_rms import GroupRMSNorm
from saccade.norm.layer import LayerNorm
from saccade.norm.none import NoNorm
from saccade.norm.power import PowerNorm
from saccade.norm.rms import RMSNorm
from saccade.norm.scale_norm import ScaleNorm
from saccade.types import UserError

NEAR = 1e-5
SMALL = 1e-12  # epsilon beside which the size of x does not show
D = 6
RANDOM = np.random.default_rng(0)
X = jnp.array(3.0 * RANDOM.normal(size=(2, 4, D)) + 1.0, jnp.float32)
SCALE, BIAS = (jnp.array(RANDOM.normal(size=D), jnp.float32) for _ in range(2))


def layer_norm(x, epsilon):
    x = np.asarray(x, np.float64)
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + epsilon)


def rms_norm(x, epsilon):
    x = np.asarray(x, np.float64)
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + epsilon)


@pytest.mark.parametrize('epsilon', [1e-5, 1.0])
def test_group_rms_norm_is_rms_norm_of_each_group(epsilon):
    y = GroupRMSNorm(groups=3, epsilon=epsilon).apply({'params': {'scale': SCALE}}, X)
    groups = rms_norm(X.reshape(2, 4, 3, 2), epsilon).reshape(2, 4, D)
    np.testing.assert_allclose(y, SCALE * groups, atol=NEAR)
    one = GroupRMSNorm(groups=1, epsilon=epsilon).apply({'params': {'scale': SCALE}}, X)
    np.testing.assert_allclose(one, RMSNorm(epsilon=epsilon).apply({'params': {'scale': SCALE}}, X), atol=NEAR)
    with pytest.raises(UserError, match='cannot be cut into 4 groups'):
        GroupRMSNorm(groups=4).init(jax.random.key(0), X)


@pytest.mark.parametrize('epsilon', [1e-5, 1.0])
def test_layer_norm(epsilon):
    y = LayerNorm(epsilon=epsilon).apply({'params': {'scale': SCALE, 'bias': BIAS}}, X)
    np.testing.assert_allclose(y, SCALE * layer_norm(X, epsilon) + BIAS, atol=NEAR)


@pytest.mark.parametrize('epsilon', [1e-6, 1.0])
def test_rms_norm(epsilon):
    y = RMSNorm(epsilon=epsilon).apply({'params': {'scale': SCALE}}, X)
    np.testing.assert_allclose(y, SCALE * rms_norm(X, epsilon), atol=NEAR)


def test_rms_norm_is_layer_norm_where_the_mean_is_zero():
    centred = X - X.mean(axis=-1, keepdims=True)
    layer, rms = LayerNorm(epsilon=1e-6, scale=False, bias=False), RMSNorm(epsilon=1e-6, scale=False)
    np.testing.assert_allclose(rms.apply({}, centred), layer.apply({}, centred), atol=NEAR)
    assert jnp.abs(rms.apply({}, X) - layer.apply({}, X)).max() > 0.1


@pytest.mark.parametrize(
    ('norm', 'names'),
    [
        (LayerNorm(), {'scale', 'bias'}),
        (LayerNorm(bias=False), {'scale'}),
        (LayerNorm(scale=False, bias=False), set()),
        (RMSNorm(), {'scale'}),
        (RMSNorm(scale=False), set()),
        (GroupNorm(groups=2), {'scale', 'bias'}),
        (GroupNorm(groups=2, bias=False), {'scale'}),
        (GroupNorm(groups=2, scale=False, bias=False), set()),
        (DynamicTanh(), {'input_scale', 'scale', 'bias'}),
        (DynamicTanh(scale=False, bias=False), {'input_scale'}),
        (ScaleNorm(), {'scale'}),
        (ScaleNorm(trained=False), set()),
        (BatchNorm(), {'running_mean', 'running_variance', 'scale', 'bias'}),
        (BatchNorm(scale=False, bias=False), {'running_mean', 'running_variance'}),
        (PowerNorm(), {'running_square', 'scale', 'bias'}),
        (PowerNorm(scale=False, bias=False), {'running_square'}),
        (NoNorm(), set()),
    ],
)
def test_parameters_can_be_left_out(norm, names):
    params = norm.init(jax.random.key(0), X).get('params', {})
    assert params.keys() == names
    numbers = {'input_scale', 'scale'} if isinstance(norm, ScaleNorm) else {'input_scale'}
    assert all(leaf.shape == (() if name in numbers else (D,)) for name, leaf in params.items())


def group_norm(x, groups, epsilon):
    """Of one token after another, one group after another."""
    x = np.asarray(x, np.float64)
    y = np.empty_like(x)
    width = D // groups
    for place in np.ndindex(x.shape[:-1]):
        for group in range(groups):
            here = (*place, slice(group * width, (group + 1) * width))
            y[here] = (x[here] - x[here].mean()) / np.sqrt(x[here].var() + epsilon)
    return y


@pytest.mark.parametrize(('groups', 'epsilon'), [(1, 1e-5), (2, 1e-5), (3, 1.0)])
def test_group_norm(groups, epsilon):
    y = GroupNorm(groups=groups, epsilon=epsilon).apply({'params': {'scale': SCALE, 'bias': BIAS}}, X)
    np.testing.assert_allclose(y, SCALE * group_norm(X, groups, epsilon) + BIAS, atol=NEAR)


def test_group_norm_of_one_group_is_layer_norm():
    params = {'params': {'scale': SCALE, 'bias': BIAS}}
    np.testing.assert_allclose(GroupNorm(groups=1).apply(params, X), LayerNorm().apply(params, X), atol=NEAR)


@pytest.mark.parametrize('groups', [4, 6, 12])
def test_groups_that_the_width_does_not_allow_are_refused(groups):
    """Each feature in a group of its own would be zero whatever it is."""
    with pytest.raises(UserError, match='groups'):
        GroupNorm(groups=groups).init(jax.random.key(0), X)


@pytest.mark.parametrize('g', [0.3, 2.0])
def test_scale_norm(g):
    exact = np.asarray(X, np.float64)
    y = ScaleNorm().apply({'params': {'scale': jnp.float32(g)}}, X)
    np.testing.assert_allclose(y, g * exact / np.linalg.norm(exact, axis=-1, keepdims=True), atol=NEAR)


def test_scale_norm_starts_as_rms_norm_and_can_be_the_unit_norm():
    started = ScaleNorm().init_with_output(jax.random.key(0), X)[0]
    np.testing.assert_allclose(started, RMSNorm(epsilon=1e-12, scale=False).apply({}, X), atol=NEAR)
    unit = ScaleNorm(start=1.0, trained=False).apply({}, X)
    np.testing.assert_allclose(np.linalg.norm(unit, axis=-1), 1.0, atol=NEAR)


def test_scale_norm_of_a_zero_token_is_zero_with_a_finite_gradient():
    norm = ScaleNorm(trained=False)
    zeros = jnp.zeros_like(X)
    assert not norm.apply({}, zeros).any()
    assert np.isfinite(jax.grad(lambda x: norm.apply({}, x).sum())(zeros)).all()


@pytest.mark.parametrize('alpha', [0.1, 0.8])
def test_dynamic_tanh(alpha):
    params = {'params': {'input_scale': jnp.float32(alpha), 'scale': SCALE, 'bias': BIAS}}
    expected = SCALE * np.tanh(alpha * np.asarray(X, np.float64)) + BIAS
    np.testing.assert_allclose(DynamicTanh().apply(params, X), expected, atol=NEAR)


@pytest.mark.parametrize('alpha', [0.5, 0.2])
def test_dynamic_tanh_starts_from_its_alpha_and_is_linear_near_zero(alpha):
    norm = DynamicTanh(alpha=alpha)
    small = 1e-3 * X
    y, params = norm.init_with_output(jax.random.key(0), small)
    assert params['params']['input_scale'] == np.float32(alpha)
    np.testing.assert_allclose(y, alpha * small, rtol=NEAR)


def moved(norm, params, x):
    """What the next step makes of the statistics: old value less the gradient of what the norm reports."""

    def loss(params):
        reports = norm.apply({'params': params}, x, mutable=['losses'])[1]
        return sum(move.mean() for move in reports['losses']['moves'])

    slopes = jax.grad(loss)(params)
    return {name: leaf - slopes[name] for name, leaf in params.items()}


@pytest.mark.parametrize('epsilon', [1e-5, 1.0])
def test_batch_norm_goes_by_running_statistics_and_moves_them_towards_the_batch(epsilon):
    norm, exact, mean, variance = (
        BatchNorm(momentum=0.8, epsilon=epsilon),
        np.asarray(X, np.float64),
        0.5 * SCALE,
        jnp.square(BIAS),
    )
    params = {'running_mean': mean, 'running_variance': variance, 'scale': SCALE, 'bias': BIAS}
    y = norm.apply({'params': params}, X)
    np.testing.assert_allclose(y, SCALE * (exact - mean) / np.sqrt(variance + epsilon) + BIAS, rtol=NEAR, atol=NEAR)
    after = moved(norm, params, X)
    np.testing.assert_allclose(after['running_mean'], 0.8 * mean + 0.2 * exact.mean((0, 1)), atol=NEAR)
    spread = np.square(exact - mean).mean((0, 1))
    np.testing.assert_allclose(after['running_variance'], 0.8 * variance + 0.2 * spread, rtol=NEAR)
    assert (after['scale'] == SCALE).all()


@pytest.mark.parametrize('epsilon', [1e-5, 1.0])
def test_power_norm_goes_by_a_running_mean_square_and_moves_it_towards_the_batch(epsilon):
    norm, exact, square = PowerNorm(momentum=0.8, epsilon=epsilon), np.asarray(X, np.float64), jnp.square(BIAS)
    params = {'running_square': square, 'scale': SCALE, 'bias': BIAS}
    y = norm.apply({'params': params}, X)
    np.testing.assert_allclose(y, SCALE * exact / np.sqrt(square + epsilon) + BIAS, rtol=NEAR, atol=NEAR)
    after = moved(norm, params, X)
    np.testing.assert_allclose(after['running_square'], 0.8 * square + 0.2 * (exact**2).mean((0, 1)), rtol=NEAR)


def test_on_one_batch_running_statistics_settle_so_that_each_feature_has_mean_zero_and_deviation_one():
    norm = BatchNorm(momentum=0.5, epsilon=SMALL, scale=False, bias=False)
    params, step = norm.init(jax.random.key(0), X)['params'], jax.jit(lambda params: moved(norm, params, X))
    for _ in range(40):
        params = step(params)
    y = np.asarray(norm.apply({'params': params}, X))
    np.testing.assert_allclose(y.mean(axis=(0, 1)), 0.0, atol=NEAR)
    np.testing.assert_allclose(y.std(axis=(0, 1)), 1.0, rtol=NEAR)


def test_no_norm_is_the_identity():
    np.testing.assert_array_equal(NoNorm().apply({}, X), X)


@pytest.mark.parametrize('norm', [LayerNorm(), GroupNorm(groups=2)])
def test_each_token_gets_mean_zero_and_deviation_one(norm):
    y = np.asarray(norm.init_with_output(jax.random.key(0), X)[0])
    np.testing.assert_allclose(y.mean(axis=-1), 0.0, atol=NEAR)
    np.testing.assert_allclose(y.std(axis=-1), 1.0, atol=1e-3)


@pytest.mark.parametrize(
    ('norm', 'invariant'),
    [
        (LayerNorm(epsilon=SMALL), True),
        (RMSNorm(epsilon=SMALL), True),
        (GroupNorm(groups=2, epsilon=SMALL), True),
        (ScaleNorm(), True),
        (DynamicTanh(), False),
        (NoNorm(), False),
    ],
)
def test_the_size_of_a_token_is_lost_where_there_are_statistics_of_it(norm, invariant):
    y, params = norm.init_with_output(jax.random.key(0), X)
    assert np.allclose(norm.apply(params, 7.0 * X), y, atol=NEAR) == invariant


@pytest.mark.parametrize(
    ('norm', 'exact'),
    [
        (LayerNorm(), layer_norm),
        (RMSNorm(), rms_norm),
        (GroupNorm(groups=2), lambda x, epsilon: group_norm(x, 2, epsilon)),
        (ScaleNorm(), lambda x, epsilon: rms_norm(x, 0.0)),
    ],
)
def test_statistics_are_in_float32(norm, exact):
    x = (100.0 + X).astype(jnp.bfloat16)
    y = norm.apply(norm.init(jax.random.key(0), x), x)
    np.testing.assert_array_equal(y, jnp.array(exact(x, 1e-5), jnp.bfloat16))
