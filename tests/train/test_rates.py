# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Factors of the learning rate by parameter: layer by layer, none at all, and both."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from saccade.build import build
from saccade.train.optimizer import Optimizer, adafactor, muon
from saccade.train.rates import Frozen, LayerWise
from saccade.types import Part, UserError

RELATIVE = 1e-6
RATE = 0.1
HALVES = Part(LayerWise, (('decay', 0.5),))


def model(fill=1.0):
    """Two repeats of a pattern of two blocks, so four layers, between embedding and head."""
    shapes = {
        'embedding': (5, 4),
        'position': {'positions': (6, 4)},
        'layers': {'pattern_0': {'up': (2, 4, 4), 'gain': (2,)}, 'pattern_1': {'up': (2, 4, 4)}},
        'norm': {'scale': (4,)},
        'head': (4, 5),
    }
    return jax.tree.map(lambda shape: jnp.full(shape, fill), shapes, is_leaf=lambda node: isinstance(node, tuple))


UP = {f'layers/pattern_{number}/up': 'L D -> D' for number in (0, 1)}


def frozen(match):
    return Part(Frozen, (('match', match),))


def updates_of(optimizer, params, gradient):
    made = optimizer(optax.constant_schedule(RATE), params, UP)
    return jax.jit(made.update)(gradient, made.init(params), params)[0]


@pytest.mark.long
def test_each_layer_learns_and_decays_a_factor_slower_than_the_one_above_it():
    optimizer = Optimizer(Part(optax.identity), weight_decay=1.0, rates=HALVES)
    updates, marks = updates_of(optimizer, model(), model(2.0)), optimizer.decays(model(), UP)
    steps = jax.tree.map(lambda update, decays: update / (-RATE * (2.0 + decays)), updates, marks)
    layers = steps.pop('layers')
    for name, factors in {'pattern_0': (1 / 16, 1 / 4), 'pattern_1': (1 / 8, 1 / 2)}.items():
        for leaf in layers[name].values():
            np.testing.assert_allclose(leaf, jnp.broadcast_to(_column(factors, leaf.ndim), leaf.shape), rtol=RELATIVE)
    for name, factor in {'embedding': 1 / 32, 'position': 1 / 32, 'norm': 1.0, 'head': 1.0}.items():
        np.testing.assert_allclose(jax.tree.leaves(steps[name])[0], factor, rtol=RELATIVE)


def test_stacks_count_their_own_layers_and_what_is_below_them_those_of_the_deepest():
    stacks = {
        'encoder': {'layers': {'pattern_0': {'up': jnp.ones((1, 2))}}},
        'decoder': model(),
        'embedding': jnp.ones(3),
    }
    factors = LayerWise(0.5)(stacks, {})
    assert factors['encoder']['layers']['pattern_0']['up'].item() == 0.5
    assert factors['decoder']['layers']['pattern_1']['up'].ravel().tolist() == [1 / 8, 1 / 2]
    assert factors['embedding'] == 1 / 32


def test_norm_and_projection_of_the_embeddings_and_their_types_are_below_the_layers_too():
    below = ('embedding_norm', 'embedding_output', 'embedding_output_bias', 'types', 'position_norm', 'embed')
    above = ('norm', 'pooled_head')
    factors = LayerWise(0.5)({**model(), **dict.fromkeys((*below, *above), jnp.ones(3))}, {})
    assert {factors[name] for name in below} == {1 / 32}
    assert {factors[name] for name in above} == {1.0}


@pytest.mark.long
@pytest.mark.parametrize('rule', [Part(optax.scale_by_adam), Part(muon), Part(adafactor)])
def test_what_is_frozen_stays_bit_for_bit_without_decay_or_moments(rule):
    params = jax.tree.map(lambda leaf: 0.3 * leaf, model())
    optimizer = Optimizer(rule, weight_decay=0.1, rates=frozen('pattern_0/up|embedding'))
    made = optimizer(optax.constant_schedule(RATE), params, UP)
    state = made.init(params)
    after = optax.apply_updates(params, jax.jit(made.update)(model(), state, params)[0])
    np.testing.assert_array_equal(after['embedding'], params['embedding'])
    np.testing.assert_array_equal(after['layers']['pattern_0']['up'], params['layers']['pattern_0']['up'])
    assert (after['layers']['pattern_1']['up'] != params['layers']['pattern_1']['up']).all()
    assert (5, 4) not in [leaf.shape for leaf in jax.tree.leaves(state)]


def test_what_is_frozen_does_not_count_in_the_clipped_norm():
    params, gradient = {'a': jnp.ones(1), 'b': jnp.ones(1)}, {'a': jnp.array([3.0]), 'b': jnp.array([1e6])}
    updates = updates_of(Optimizer(Part(optax.identity), clip_norm=1.5, rates=frozen('b')), params, gradient)
    np.testing.assert_allclose(updates['a'], -RATE * 1.5, rtol=RELATIVE)
    assert updates['b'] == 0.0


def test_a_statistic_of_what_is_frozen_stays_and_others_move():
    params = {
        'norm': {'running_mean': jnp.ones(3)},
        'other_norm': {'running_mean': jnp.ones(3)},
        'up': jnp.ones((3, 3)),
    }
    updates = updates_of(Optimizer(Part(optax.identity), rates=frozen('^norm/')), params, params)
    assert not updates['norm']['running_mean'].any()
    np.testing.assert_array_equal(updates['other_norm']['running_mean'], -1.0)


def test_several_are_multiplied():
    layerwise, embedding = dict(use='train.rates:LayerWise', decay=0.5), dict(use='train.rates:Frozen', match='^emb')
    spec = dict(use='train.optimizer:Optimizer', rule=dict(use='optax:scale_by_sign'))
    updates = updates_of(build({**spec, 'rates': [layerwise, embedding, layerwise]})(), model(), model())
    assert not updates['embedding'].any()
    np.testing.assert_allclose(updates['layers']['pattern_1']['up'][:, 0, 0], [-RATE / 64, -RATE / 4], rtol=RELATIVE)


@pytest.mark.parametrize(
    ('rates', 'words'),
    [
        (frozen('encoder'), "'encoder' finds none of embedding, head, layers/pattern_0/gain"),
        (frozen('('), 'not a regular expression'),
        (frozen(''), 'nothing is left to learn'),
    ],
)
def test_refuses_what_cannot_be(rates, words):
    with pytest.raises(UserError, match=words):
        updates_of(Optimizer(Part(optax.identity), rates=rates), model(), model())


def _column(factors, axes):
    return np.reshape(factors, (-1, *(1,) * (axes - 1)))
