# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Every tower of a model gathers its layers' weights where they are split, and only there."""

from pathlib import Path

import jax
import pytest
from jax.sharding import AbstractMesh, AxisType

from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.train.gathered import Gathered, gathering, outside_layers
from saccade.train.setup import learner_on, make_learner

EXPERIMENTS = Path(__file__).parents[2] / 'experiments'
AXES = ('data', 'fsdp', 'tensor')
AUTO = (AxisType.Auto,) * len(AXES)  # newer releases of JAX want axes of which one says everything oneself
SPLIT, WHOLE = (AbstractMesh(sizes, AXES, axis_types=AUTO) for sizes in ((2, 4, 1), (8, 1, 1)))


def experiment(name):
    return Experiment.of(load_config(str(EXPERIMENTS / name)))


@pytest.mark.parametrize(
    ('name', 'towers'),
    [('causal_lm/quickstart.py', 1), ('translation/dates.py', 2), ('masked_lm/electra_small.py', 2)],
)
def test_every_tower_goes_through_its_layers_with_whole_weights(name, towers):
    given = experiment(name)
    runners = [part['run'] for part in given.model.within() if 'run' in dict(part.arguments)]
    found = [part for part in gathering(given, SPLIT).model.within() if part.target is Gathered]
    assert [part['run'] for part in found] == runners
    assert len(runners) == towers


def test_where_weights_are_whole_the_step_is_as_it_is():
    given = experiment('causal_lm/quickstart.py')
    assert learner_on(WHOLE, given).model == make_learner(given).model
    assert learner_on(SPLIT, given).model != make_learner(given).model


def test_of_what_is_no_layer_only_what_is_split_is_gathered():
    like = jax.ShapeDtypeStruct((64, 8), 'float32')
    leaves = {'embedding': like, 'norm': {'scale': like}, 'layers': {'pattern_0': {'up': like}}}
    placed = jax.make_jaxpr(lambda params: outside_layers(SPLIT, params))(leaves)
    assert len(placed.eqns) == 1
    assert placed.eqns[0].invars == placed.jaxpr.invars[:1]
