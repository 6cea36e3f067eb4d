# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A model of source and target is evaluated at other lengths than in training, with the same parameters."""

from functools import partial
from pathlib import Path

import jax
import pytest

from saccade.train.config_file import read_config
from saccade.train.experiment import Experiment
from saccade.train.setup import param_shapes
from saccade.types import UserError

EXPERIMENTS = Path(__file__).parents[2] / 'experiments/translation'
LENGTH = 40


def experiment(name, change=lambda config: None):
    config = read_config(str(EXPERIMENTS / f'{name}.py'))
    change(config)
    return Experiment.of(config.to_dict())


def as_prefix_decoder(config):
    """Make the experiment's decoder read source and target as one sequence."""
    decoder = config.model.decoder.copy_and_resolve_references()
    del decoder.block['cross']
    decoder.context_length = 48
    config.model = dict(use='model.prefix_decoder:PrefixDecoder', decoder=decoder, source_context_length=24)


@pytest.mark.parametrize(
    ('name', 'change'),
    [('copying', lambda config: None), ('generated', lambda config: None), ('generated', as_prefix_decoder)],
    ids=['recurrent', 'transformer', 'prefix'],
)
def test_a_model_of_two_sequences_is_evaluated_at_another_length(name, change):
    made = experiment(name, change)
    other = made.at_length(LENGTH)
    params, batch = param_shapes(made), other.data().batch_like(other.batch_size)
    assert jax.tree.map(lambda leaf: leaf.shape, params) == jax.tree.map(lambda leaf: leaf.shape, param_shapes(other))
    assert (batch['source'].shape[1], batch['tokens'].shape[1]) == (LENGTH, LENGTH + 1)
    loss = partial(other.task().loss, other.model(), key=jax.random.key(0), train=False)
    assert 'loss' in jax.eval_shape(loss, params, batch)


def test_pairs_with_lengths_of_their_own_are_refused():
    made = experiment('dates')
    with pytest.raises(UserError, match='Dates has no lengths to choose from, so not 40 tokens'):
        made.at_length(LENGTH)
