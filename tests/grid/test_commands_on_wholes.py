# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What looks at a model works on every distinct pair of task and model that ships, or refuses it in one line."""

from functools import partial

import jax
import numpy as np
import pytest
from wholes import LENGTH, batch_of, config_of, drawn, experiment_of, pairs, towers

from saccade.data.tokenizer.byte import Byte
from saccade.decode.embed import Embedder
from saccade.inside.inspection import inspect
from saccade.inside.parameters import weights
from saccade.train.initial import param_shapes
from saccade.train.plan import RunPlan
from saccade.train.setup import make_backend
from saccade.types import UserError

pytestmark = pytest.mark.long

each_pair = pytest.mark.parametrize('pair', pairs(), ids=lambda pair: pair.name)


@each_pair
def test_another_length_is_served_or_refused(pair):
    experiment = experiment_of(pair)
    try:
        other = experiment.at_length(2 * LENGTH)
    except UserError as refusal:
        pytest.skip(f'refused: {refusal}')
    batch = other.data().batch_like(other.batch_size)
    assert batch['tokens'].shape[-1] >= 2 * LENGTH
    key = jax.random.key(0)
    jax.eval_shape(partial(other.task().loss, other.model(), key=key, train=False), param_shapes(other), batch)


@each_pair
def test_it_is_seen_into_layer_by_layer_and_head_by_head(pair):
    experiment = experiment_of(pair)
    batch = batch_of(experiment)
    layers, heads = inspect(experiment, drawn(experiment, batch), batch)
    assert len({layer.name for layer in layers}) == len(layers)
    assert all(np.isfinite(layer.gradient) for layer in layers)
    model = config_of(pair.file)['model']
    of_teacher = 'teacher' in model  # which is not learned
    assert len({head.tower for head in heads}) == len(list(towers(model))) - of_teacher
    assert len({(head.where, head.head) for head in heads}) == len(heads)
    assert all(np.isfinite(head.entropy) for head in heads)


@each_pair
def test_its_weights_are_tabulated_and_its_plan_is_made(pair):
    experiment = experiment_of(pair)
    shapes = jax.tree.leaves(param_shapes(experiment))
    assert sum(weight.count for weight in weights(param_shapes(experiment))) == sum(leaf.size for leaf in shapes)
    plan = RunPlan.of(pair.name, make_backend(experiment), experiment.model, 1)
    assert plan.total == sum(leaf.size for leaf in shapes)
    assert plan.flops > 0


@each_pair
def test_neighbours_are_found_in_its_embedding_or_it_has_none(pair):
    experiment = experiment_of(pair)
    params = drawn(experiment, batch_of(experiment))
    try:
        found = Embedder(experiment.model(), params, Byte().train([])).nearest('a', 3)
    except UserError as refusal:
        found = str(refusal)
    assert 'no single embedding' in found or len(found) == 3
