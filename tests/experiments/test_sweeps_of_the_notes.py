# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The sweeps that decide claims of the lecture notes: each variant trains, and differs in what its name says alone."""

import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.sweep.plan import SweepPlan
from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.train.setup import make_learner

ROOT = Path(__file__).parents[2]
ROWS = 4


def experiments(name):
    """The experiment of each variant, by its name."""
    sweep = ROOT / f'experiments/sweeps/{name}.py'
    config = str(ROOT / re.search(r'--config=(\S+)', sweep.read_text())[1])
    plan = SweepPlan.of(config, str(sweep))
    return {
        variant.name: Experiment.of(load_config(config, [*variant.overrides, f'--config.batch_size={ROWS}']))
        for variant in plan.variants
    }


def drawn(experiment):
    """A batch of the experiment's data, of random tokens and pixels."""
    random = np.random.default_rng(0)

    def leaf(name, like):
        if name == 'images':
            return jnp.asarray(random.normal(size=like.shape), like.dtype)
        if name == 'tokens':
            return jnp.asarray(random.integers(5, 99, like.shape), like.dtype)
        if name == 'positions':
            return jnp.broadcast_to(jnp.arange(like.shape[-1], dtype=like.dtype), like.shape)
        return jnp.arange(ROWS, dtype=like.dtype) if name in ('example', 'row') else jnp.ones(like.shape, like.dtype)

    return {name: leaf(name, like) for name, like in experiment.data().batch_like(ROWS).items()}


@pytest.mark.long
@pytest.mark.parametrize(
    'name', ['frozen_embedding', 'feedforward_ratio', 'contrastive_losses', 'ablations', 'many_heads']
)
def test_each_variant_takes_two_steps(name):
    for experiment in experiments(name).values():
        learner, batch = make_learner(experiment), drawn(experiment)
        state = jax.jit(learner.init)(jax.random.key_data(jax.random.key(0)), batch)
        step = jax.jit(learner.train_step)
        for _ in range(2):
            state, metrics = step(state, batch)
        assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves((state.params, metrics)))
        assert metrics['gradient_norm'] > 0


@pytest.mark.long
def test_an_embedding_of_one_hot_tokens_has_room_for_each():
    frozen = experiments('frozen_embedding')
    assert frozen['one_hot'].model().width >= frozen['one_hot'].model().vocabulary
    assert not any(experiment.model().tied for experiment in frozen.values())


@pytest.mark.long
def test_every_batch_size_has_the_losses_of_both_and_as_many_images():
    sweep = ROOT / 'experiments/sweeps/contrastive_losses.py'
    variants = SweepPlan.of(str(ROOT / 'experiments/pairs/clip.py'), str(sweep)).variants
    found = [load_config(str(ROOT / 'experiments/pairs/clip.py'), variant.overrides) for variant in variants]
    assert len({config['steps'] * config['batch_size'] for config in found}) == 1
    assert {(config['task']['use'].split(':')[1], config['batch_size']) for config in found} == {
        (task, batch) for task in ('Contrastive', 'SigmoidContrastive') for batch in (32, 128, 512)
    }
