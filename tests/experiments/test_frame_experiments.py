# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Every experiment on sounds, graphs and sets builds, takes a step, and keeps its sizes together."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.train.setup import make_learner

ROOT = Path(__file__).parents[2] / 'experiments'
FILES = [
    path
    for folder in ('audio', 'graphs', 'sets')
    for path in sorted((ROOT / folder).glob('*.py'))
    if 'def get_config(' in path.read_text()
]

each_experiment = pytest.mark.parametrize('file', FILES, ids=lambda path: path.stem)


def test_there_are_experiments():
    assert {path.stem for path in FILES} >= {'tones', 'connected', 'files', 'points'}


@each_experiment
def test_data_and_model_agree_at_other_sizes_too(file):
    config = load_config(str(file))
    longer = load_config(str(file), [f'--config.model.context_length={2 * config["model"]["context_length"]}'])
    for experiment in map(Experiment.of, (config, longer)):
        data, heads = experiment.data(), dict(experiment.model().heads)
        assert experiment.model().context_length == data.context_length
        assert heads['pooled']['classes'] == data.classes


@pytest.mark.long
@each_experiment
def test_a_step_is_finite(file):
    overrides = ['--config.model.width=16', '--config.model.layers=1', '--config.batch_size=4']
    experiment = Experiment.of(load_config(str(file), overrides))
    random = np.random.default_rng(0)
    batch = {name: jnp.zeros(leaf.shape, leaf.dtype) for name, leaf in experiment.data().batch_like(4).items()}
    batch |= {
        'frames': jnp.asarray(random.normal(size=batch['frames'].shape), jnp.float32),
        'segments': jnp.ones_like(batch['segments']),
        'example': jnp.arange(4, dtype=jnp.int32),
    }
    learner = make_learner(experiment)
    state = jax.jit(learner.init)(jax.random.key_data(jax.random.key(0)), batch)
    state, metrics = jax.jit(learner.train_step)(state, batch)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves((state.params, metrics)))
    assert metrics['gradient_norm'] > 0
