# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Normalisations against torch's, on the same weights: outputs and gradients."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.norm.group import GroupNorm
from saccade.norm.layer import LayerNorm
from saccade.norm.rms import RMSNorm
from saccade.norm.scale_norm import ScaleNorm

torch = pytest.importorskip('torch', reason='the oracle extra is not installed: torch')

pytestmark = pytest.mark.oracle

TOLERANCE = 2e-5
B, T = 3, 5
SETTINGS = range(6)


def settings(number: int) -> tuple[np.random.Generator, int, int, float]:
    """A generator, a width, a number of groups that divides it, and an epsilon."""
    random = np.random.default_rng(number)
    groups = int(random.integers(1, 5))
    # In a group of 2 or 3 features these can be so near each other that 1 / sqrt(variance) is known badly.
    return random, groups * int(random.integers(4, 9)), groups, float(10.0 ** random.uniform(-6, 0))


def compare(ours: Any, theirs: Any, names: dict[str, str], random: np.random.Generator, width: int) -> None:
    """Compare y, and the gradients of (direction y).sum() by x and by the parameters, ours -> theirs by name."""
    x, direction = (3.0 * random.normal(size=(B, T, width)) + 1.0 for _ in range(2))
    params = {name: random.normal(size=getattr(theirs, theirs_name).shape) for name, theirs_name in names.items()}
    for name, theirs_name in names.items():
        getattr(theirs, theirs_name).data = torch.tensor(params[name], dtype=torch.float32)
    given = torch.tensor(x, dtype=torch.float32, requires_grad=True)
    expected = theirs(given.reshape(B * T, width)).reshape(B, T, width)
    (expected * torch.tensor(direction, dtype=torch.float32)).sum().backward()

    def along(params, x):
        y = ours.apply({'params': params}, x)
        return (y * direction).sum(), y

    arrays = {name: jnp.array(value, jnp.float32) for name, value in params.items()}
    (by_params, by_x), y = jax.grad(along, argnums=(0, 1), has_aux=True)(arrays, jnp.array(x, jnp.float32))
    near(y, expected.detach())
    near(by_x, given.grad)
    for name, theirs_name in names.items():
        near(by_params[name], getattr(theirs, theirs_name).grad)


def near(given: Any, expected: Any) -> None:
    expected = np.asarray(expected)
    np.testing.assert_allclose(given, expected, rtol=0, atol=TOLERANCE * max(1.0, np.abs(expected).max()))


@pytest.mark.oracle_of('norm.layer:LayerNorm', by='torch')
@pytest.mark.parametrize('number', SETTINGS)
@pytest.mark.parametrize('bias', [True, False])
def test_layer_norm(number, bias):
    random, width, _, epsilon = settings(number)
    names = {'scale': 'weight', 'bias': 'bias'} if bias else {'scale': 'weight'}
    theirs = torch.nn.LayerNorm(width, eps=epsilon, bias=bias)
    compare(LayerNorm(epsilon=epsilon, bias=bias), theirs, names, random, width)


@pytest.mark.parametrize('number', SETTINGS)
def test_layer_norm_without_parameters(number):
    random, width, _, epsilon = settings(number)
    theirs = torch.nn.LayerNorm(width, eps=epsilon, elementwise_affine=False)
    compare(LayerNorm(epsilon=epsilon, scale=False, bias=False), theirs, {}, random, width)


@pytest.mark.oracle_of('norm.rms:RMSNorm', by='torch')
@pytest.mark.parametrize('number', SETTINGS)
@pytest.mark.parametrize('scale', [True, False])
def test_rms_norm(number, scale):
    random, width, _, epsilon = settings(number)
    theirs = torch.nn.RMSNorm(width, eps=epsilon, elementwise_affine=scale)
    compare(RMSNorm(epsilon=epsilon, scale=scale), theirs, {'scale': 'weight'} if scale else {}, random, width)


@pytest.mark.oracle_of('norm.group:GroupNorm', by='torch')
@pytest.mark.parametrize('number', SETTINGS)
def test_group_norm(number):
    random, width, groups, epsilon = settings(number)
    theirs = torch.nn.GroupNorm(groups, width, eps=epsilon)
    compare(GroupNorm(groups=groups, epsilon=epsilon), theirs, {'scale': 'weight', 'bias': 'bias'}, random, width)


@pytest.mark.oracle_of('norm.scale_norm:ScaleNorm', by='torch')
@pytest.mark.parametrize('number', SETTINGS)
def test_the_unit_norm(number):
    random, width, _, epsilon = settings(number)

    class Unit(torch.nn.Module):
        def forward(self, x):
            return torch.nn.functional.normalize(x, dim=-1, eps=epsilon)

    compare(ScaleNorm(start=1.0, trained=False, epsilon=epsilon), Unit(), {}, random, width)
