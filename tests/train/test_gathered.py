# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Every tower of a model gathers its layers' weights where they are split, and only there."""

from pathlib import Path

import jax
import pytest
from jax.sharding import AbstractMesh, AxisType

from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.train.gathered import AllGathered, gathering, outside_layers
from saccade.train.initial import kept
from saccade.train.mesh import AXES
from saccade.train.setup import learner_on, make_learner
from saccade.types import Part

EXPERIMENTS = Path(__file__).parents[2] / 'experiments'
AUTO = (AxisType.Auto,) * len(AXES)  # newer releases of JAX want axes of which one says everything oneself
SPLIT, WHOLE = (AbstractMesh(sizes, AXES, axis_types=AUTO) for sizes in ((2, 4, 1, 1, 1), (8, 1, 1, 1, 1)))


def experiment(name):
    return Experiment.of(load_config(str(EXPERIMENTS / name)))


@pytest.mark.parametrize(
    ('name', 'towers'),
    [
        ('causal_lm/quickstart.py', 1),
        ('causal_lm/hybrid.py', 1),
        ('denoising/prefix_lm.py', 1),
        ('translation/dates.py', 2),
        ('masked_lm/electra_small.py', 2),
        ('translation/dates_recurrent.py', 0),
    ],
)
def test_every_tower_goes_through_its_layers_with_whole_weights(name, towers):
    given = experiment(name)
    _, axes = kept(given)
    runners = [part['run'] for part in given.model.walk() if 'run' in dict(part.arguments)]
    found = [part for part in gathering(given.model, axes, SPLIT).walk() if part.target is AllGathered]
    assert [part['run'] for part in found] == runners
    assert len(runners) == towers
    stacked = [letters for letters in axes.values() if letters.startswith('L ')]
    assert sorted(letters for part in found for _, letters in part['axes']) == sorted(stacked)
    assert all(path.startswith('pattern_') for part in found for path, _ in part['axes'])


def test_where_weights_are_whole_the_step_is_as_it_is():
    given = experiment('causal_lm/quickstart.py')
    assert learner_on(WHOLE, given).model == make_learner(given).model
    assert learner_on(SPLIT, given).model != make_learner(given).model


def test_of_what_is_no_layer_only_what_is_split_is_gathered():
    like = jax.ShapeDtypeStruct((64, 8), 'float32')
    stacked = jax.ShapeDtypeStruct((2, 64, 8), 'float32')
    leaves = {'embedding': like, 'foreign': like, 'layers': {'pattern_0': {'up': stacked}}, 'table': like}
    axes = {'embedding': 'V D', 'layers/pattern_0/up': 'L D -> F', 'table': 'X H'}
    placed = jax.make_jaxpr(lambda params: outside_layers(axes, SPLIT, params))(leaves)
    assert len(placed.eqns) == 1
    assert placed.eqns[0].invars == placed.jaxpr.invars[:1]


def test_weights_of_a_cell_that_a_decoder_calls_its_layers_are_gathered_too():
    like, path = jax.ShapeDtypeStruct((64, 8), 'float32'), 'decoder/layers/layer_0/recurrent'
    leaves = {'decoder': {'layers': {'layer_0': {'recurrent': like}}}}
    placed = jax.make_jaxpr(lambda params: outside_layers({path: 'D -> X'}, SPLIT, params))(leaves)
    assert len(placed.eqns) == 1


def test_layers_without_a_given_runner_are_gathered_too():
    given = experiment('causal_lm/quickstart.py')
    _, axes = kept(given)
    bare = Part(given.model.target, tuple((name, value) for name, value in given.model.arguments if name != 'run'))
    run = gathering(bare, axes, SPLIT)['run']
    assert (run.target, run['run']) == (AllGathered, bare['run'])
