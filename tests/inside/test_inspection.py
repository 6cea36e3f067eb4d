# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What is seen inside a model: known numbers of known weights, and gradients that add up."""

import math
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.inside.inspection import inspect
from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.train.setup import make_learner

QUICKSTART = str(Path(__file__).parents[2] / 'experiments/causal_lm/quickstart.py')
NEAR = 1e-4
T = 8


def experiment(**changes):
    small = {'model.vocabulary': 16, 'data.context_length': T, 'model.width': 12, 'model.layers': 2, 'batch_size': 2}
    overrides = [f'--config.{name}={value}' for name, value in {**small, **changes}.items()]
    return Experiment.of(load_config(QUICKSTART, overrides))


def batch(run):
    rows = run.batch_size, T + 1
    tokens = jnp.asarray(np.random.default_rng(0).integers(0, 16, rows), jnp.int32)
    return {
        'tokens': tokens,
        'segments': jnp.ones_like(tokens).at[1, 5:].set(0),
        'positions': jnp.broadcast_to(jnp.arange(T + 1), rows),
    }


def drawn(run):
    params = jax.jit(lambda rows: run.task().init(run.model(), jax.random.key(0), rows))(batch(run))
    return jax.tree.map(lambda leaf: leaf + 0.3 * jax.random.normal(jax.random.key(1), leaf.shape), params)


def inspected(**changes):
    run = experiment(**changes)
    return inspect(run, drawn(run), batch(run))


@pytest.mark.long
def test_every_head_of_every_layer_is_seen_whatever_the_kernel():
    plain = inspected()[1]
    assert [(head.layer, head.head) for head in plain] == [(layer, head) for layer in range(2) for head in range(6)]
    kernel = '{"use": "attention.blockwise:Blockwise", "query_block": 4, "key_block": 4}'
    for one, other in zip(plain, inspected(**{'model.block.mixer.kernel': kernel})[1], strict=True):
        assert one.entropy == pytest.approx(other.entropy, rel=NEAR)
        assert one.distance == pytest.approx(other.distance, rel=NEAR)
        assert one.previous == pytest.approx(other.previous, rel=NEAR)
    assert len({head.entropy for head in plain}) == len(plain)


IMPLIED = {
    'linear': {'model.block.mixer.kernel': '{"use": "attention.linear:Linear"}'},
    'retention': {'model.block.mixer': '{"use": "attention.retention:Retention", "heads": 6, "chunk": 4}'},
    'scanned': {
        'model.block.mixer': '{"use": "attention.retention:Retention", "heads": 6, "chunk": 4}',
        'model.run': '{"use": "model.stack:Scanned"}',
    },
}


@pytest.mark.long
@pytest.mark.parametrize('name', IMPLIED)
def test_heads_that_make_no_weights_are_seen_by_those_that_they_imply(name):
    heads = inspected(**IMPLIED[name])[1]
    assert [(head.layer, head.head) for head in heads] == [(layer, head) for layer in range(2) for head in range(6)]
    for head in heads:
        assert 0 < head.entropy < math.log(T)
        assert 0 < head.itself < 1
        assert 0 < head.previous < 1


@pytest.mark.long
def test_a_mixer_without_values_has_layers_and_no_heads():
    lstm = '{"use": "recurrent.mixer.recurrent:Recurrent", "cell": {"use": "recurrent.cell.lstm:LSTM", "width": 8}}'
    layers, heads = inspected(**{'model.block.mixer': lstm})
    assert heads == []
    assert [layer.name for layer in layers] == ['embedding', 'norm', 'layers.0', 'layers.1']


@pytest.mark.long
def test_gradients_of_all_layers_add_up_to_that_of_the_model():
    run = experiment()
    params = drawn(run)
    learner = make_learner(run)
    state = learner.init(jax.random.key_data(jax.random.key(0)), batch(run)).replace(params=params)
    whole = learner.train_step(state, batch(run))[1]['gradient_norm']
    layers, _ = inspect(run, params, batch(run))
    assert sum(layer.gradient**2 for layer in layers) ** 0.5 == pytest.approx(float(whole), rel=NEAR)
    own = sum(float(jnp.square(leaf).sum()) for leaf in jax.tree.leaves(params))
    assert sum(layer.parameters**2 for layer in layers) == pytest.approx(own, rel=NEAR)
