# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A parameter's axes are declared where it is made, and nothing else about it changes."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.axes import declared, letters_of, parameter, parameters, recorded_axes
from saccade.types import UserError

INIT = nn.initializers.lecun_normal()
X = jnp.ones((2, 3, 4))
KEY = jax.random.key(0)


class Declaring(nn.Module):
    axes: str = 'D -> F'

    @nn.compact
    def __call__(self, x):
        return x @ parameter(self, 'up', self.axes, INIT, (4, 6)) @ self.param('foreign', INIT, (6, 4))


class Plain(nn.Module):
    @nn.compact
    def __call__(self, x):
        return x @ self.param('up', INIT, (4, 6)) @ self.param('foreign', INIT, (6, 4))


class Layers(nn.Module):
    @nn.compact
    def __call__(self, x):
        one = Declaring(parent=None)
        stacked = parameters(self, 'layer', 'L', 3, lambda key: one.init(key, x))
        return jax.lax.scan(lambda x, params: (one.apply({'params': params}, x), None), x, stacked)[0]


def test_values_and_paths_are_those_of_plain_parameters():
    with recorded_axes():
        given, plain = Declaring().init(KEY, X), Plain().init(KEY, X)
    jax.tree.map(np.testing.assert_array_equal, given['params'], plain['params'])
    assert declared(given) == {'up': 'D -> F'}
    assert declared(plain) == {}


def test_a_parameter_of_another_shape_is_refused_by_its_path():
    params = Declaring().init(KEY, X)['params']
    said = r'Declaring: the parameter up must be of shape \(4, 6\), not \(4, 7\)'
    with pytest.raises(UserError, match=said):
        Declaring().apply({'params': params | {'up': jnp.ones((4, 7))}}, X)


def test_copies_are_drawn_one_by_one_and_stacked():
    with recorded_axes():
        variables = Layers().init(KEY, X)
    given = variables['params']['layer']
    assert jax.tree.map(jnp.shape, given) == {'up': (3, 4, 6), 'foreign': (3, 6, 4)}
    assert not np.array_equal(given['up'][0], given['up'][1])
    assert declared(variables) == {'layer/up': 'L D -> F'}


def test_axes_are_recorded_at_initialisation_alone_and_hold_no_arrays():
    with recorded_axes():
        variables, chosen = jax.jit(Layers().init)(KEY, X), Layers().init(KEY, X, mutable=['params'])
    assert len(jax.tree.leaves(variables)) == len(jax.tree.leaves(variables['params']))
    assert 'axes' not in Layers().apply({'params': variables['params']}, X, mutable=True)[1]
    assert {*chosen} == {'params'}


def test_axes_are_recorded_only_where_they_are_asked_for():
    assert {*Layers().init(KEY, X)} == {'params'}


@pytest.mark.parametrize(
    ('axes', 'words'),
    [('D', 'one letter per dimension'), ('L D -> F', 'one letter per dimension'), ('D -> Q', "unknown letter 'Q'")],
)
def test_axes_that_do_not_fit_are_refused(axes, words):
    with recorded_axes(), pytest.raises(UserError, match=f"Declaring: axes '{axes}' of the parameter 'up': {words}"):
        Declaring(axes).init(KEY, X)


def test_letters():
    assert letters_of('L N H -> D') == ['L', 'N', 'H', 'D']
    assert letters_of('') == []
