# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The projection of nGPT: which dimension it goes by, what an optimizer with it does, and an experiment that has it."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from saccade.axes import declared, recorded_axes
from saccade.build import build
from saccade.train.config import load_config
from saccade.train.optimizer import Optimizer
from saccade.train.rates import Frozen
from saccade.train.unit_vectors import UnitVectors, embedding_axis
from saccade.types import LayerContext, Part, UserError

AXES = {'table': 'V D', 'layers/query': 'L D -> N H', 'layers/output': 'L N H -> D', 'layers/scale': 'L D'}
SHAPES = {'table': (5, 4), 'layers': {'query': (2, 4, 3, 2), 'output': (2, 3, 2, 4), 'scale': (2, 4)}}
ALONG = {'table': -1, 'query': 1, 'output': -1}


def draw(number):
    random = np.random.default_rng(number)
    return jax.tree.map(lambda shape: jnp.array(random.normal(size=shape), jnp.float32), SHAPES, is_leaf=_is_shape)


def _is_shape(value):
    return isinstance(value, tuple)


def stepped(optimizer, params):
    transformation = optimizer(optax.constant_schedule(0.1), params, AXES)
    updates, _ = transformation.update(draw(1), transformation.init(params), params)
    return optax.apply_updates(params, updates)


@pytest.mark.parametrize(
    ('axes', 'axis'),
    [
        ('D -> N H', -3),
        ('L D -> F', -2),
        ('L N H -> D', -1),
        ('L E F -> D', -1),
        ('V D', -1),
        ('D -> V', -2),
        ('L D', None),
        ('L X D', None),
        ('D -> D', None),
        ('L N H', None),
        ('', None),
    ],
)
def test_the_declared_axes_say_which_dimension_vectors_lie_along(axes, axis):
    assert embedding_axis(axes) == axis


@pytest.mark.long
def test_a_step_ends_where_the_projection_of_the_plain_step_is():
    params, rule = draw(0), Part(optax.scale_by_adam)
    plain, projected = (stepped(Optimizer(rule, projection=given), params) for given in (None, Part(UnitVectors)))
    leaves = {'table': (plain['table'], projected['table'])}
    leaves |= {name: (plain['layers'][name], projected['layers'][name]) for name in ('query', 'output')}
    for name, (before, after) in leaves.items():
        norms = np.linalg.norm(before, axis=ALONG[name], keepdims=True)
        np.testing.assert_allclose(after, before / norms, atol=1e-6)
    np.testing.assert_array_equal(projected['layers']['scale'], plain['layers']['scale'])


@pytest.mark.long
def test_what_is_frozen_is_not_projected():
    params, frozen = draw(0), Part(Frozen, (('match', '^table$'),))
    moved = stepped(Optimizer(Part(optax.scale_by_adam), rates=frozen, projection=Part(UnitVectors)), params)
    np.testing.assert_array_equal(moved['table'], params['table'])
    np.testing.assert_allclose(np.linalg.norm(moved['layers']['output'], axis=-1), 1.0, atol=1e-6)


def test_where_no_matrix_is_it_is_refused():
    with pytest.raises(UserError, match='finds no matrix'):
        UnitVectors()({'scale': jnp.ones(3)}, {'scale': 'D'})


@pytest.mark.long
def test_an_ngpt_starts_with_vectors_of_norm_1_and_scales_its_logits():
    config = load_config(str(Path(__file__).parents[2] / 'experiments/causal_lm/ngpt_tiny.py'))
    spec = config['model'] | {'width': 16, 'vocabulary': 11, 'context_length': 6, 'layers': 2}
    model, tokens = build(spec)(), jnp.arange(6)[None]
    context = LayerContext(tokens)
    with recorded_axes():
        made = jax.jit(lambda key: model.init(key, tokens, context, False))(jax.random.key(0))
    params, axes = made['params'], declared(made)
    after = UnitVectors()(params, axes)
    jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, atol=1e-6), params, after)
    logits = jax.jit(lambda params: model.apply({'params': params}, tokens, context, False))
    gains = jnp.arange(1.0, 12.0)
    scaled = logits(params | {'logit_gain': gains * params['logit_gain']})
    np.testing.assert_allclose(scaled, gains * logits(params), atol=1e-5)
    start = spec['logit_gain']['start']
    assert np.abs(logits(params)).max() <= start * (1.0 + 1e-6)  # of cosines
