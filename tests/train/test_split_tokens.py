# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Every tower of a model keeps its tokens split over the sequence axis; what does not divide is refused."""

from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import AbstractMesh, AxisType, PartitionSpec

from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.train.gathered import AllGathered
from saccade.train.mesh import AXES, devices_of
from saccade.train.plan import token_lines
from saccade.train.setup import learner_on, make_learner
from saccade.train.split_tokens import SplitTokens, splits_tokens, splitting
from saccade.types import Part, UserError

EXPERIMENTS = Path(__file__).parents[2] / 'experiments'


def on(**sizes):
    return AbstractMesh(tuple(sizes.get(axis, 1) for axis in AXES), AXES, axis_types=(AxisType.Auto,) * len(AXES))


def experiment(name, *flags):
    return Experiment.of(load_config(str(EXPERIMENTS / name), [f'--config.{flag}' for flag in flags]))


@pytest.mark.parametrize(
    ('name', 'towers'),
    [('causal_lm/quickstart.py', 1), ('translation/dates.py', 2), ('translation/dates_recurrent.py', 0)],
)
def test_every_tower_keeps_its_tokens_split(name, towers):
    model = experiment(name).model
    found = [part for part in splitting(model, on(sequence=4)).walk() if part.target is SplitTokens]
    runners = [dict(part.arguments)['run'] for part in model.walk() if 'run' in dict(part.arguments)]
    assert [part['run'] for part in found] == runners
    assert len(found) == towers
    assert splits_tokens(model) == bool(towers)


@pytest.mark.long
def test_where_tokens_are_whole_the_step_is_as_it_is():
    given = experiment('causal_lm/quickstart.py')
    assert learner_on(on(data=8), given).model == make_learner(given).model
    run = learner_on(on(sequence=4, data=2), given).model.run
    assert run.target is SplitTokens
    both = learner_on(on(sequence=4, fsdp=2), given).model.run
    assert (both.target, both['run'].target) == (SplitTokens, AllGathered)


def laid(tokens):
    run = SplitTokens(Part(lambda: lambda layer, stacked, carry: layer(carry, stacked)), on(sequence=4, data=2))
    x = jax.ShapeDtypeStruct((2, tokens, 8), jnp.float32)
    return jax.make_jaxpr(lambda x: run(lambda carry, this: (carry, None), None, (x, {})))(x)


def test_a_layer_takes_and_gives_split_tokens():
    places = [equation.params['sharding'].spec for equation in laid(16).eqns]
    assert places == [PartitionSpec(('data', 'fsdp', 'expert'), 'sequence', None)] * 2


def test_tokens_that_do_not_divide_are_refused():
    with pytest.raises(UserError, match=r'config\.mesh\.sequence: 4 devices cannot share 18 tokens equally'):
        laid(18)


def test_the_plan_says_how_tokens_are_split():
    split, whole = (devices_of(on(**sizes)) for sizes in ({'sequence': 4, 'data': 2}, {'data': 8}))
    layers, recurrent = (
        experiment(name).model for name in ('causal_lm/quickstart.py', 'translation/dates_recurrent.py')
    )
    assert token_lines(split, layers, 1024) == ['sequence    1,024 tokens a row, 256 on each of 4 devices']
    (line,) = token_lines(split, recurrent, 1024)
    assert line.startswith('sequence    whole rows on each of 4 devices: model.recurrent_seq2seq:')
    assert token_lines(whole, layers, 1024) == token_lines(None, layers, 1024) == []


def test_layers_without_a_given_runner_keep_their_tokens_split_too():
    model = experiment('causal_lm/quickstart.py').model
    bare = Part(model.target, tuple((name, value) for name, value in model.arguments if name != 'run'))
    assert splits_tokens(bare)
    run = splitting(bare, on(sequence=4))['run']
    assert (run.target, run['run']) == (SplitTokens, bare['run'])
