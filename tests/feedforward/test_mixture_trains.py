# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Training steps of the quickstart with mixtures of experts, reached from its config by overrides."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from saccade.build import build
from saccade.train.config import load_config
from saccade.train.learner import Learner
from saccade.types import UserError

QUICKSTART = str(Path(__file__).parents[2] / 'experiments/causal_lm/quickstart.py')
SMALL = [
    '--config.model.width=16',
    '--config.model.block.mixer.heads=2',
    '--config.model.layers=2',
    '--config.model.vocabulary=32',
    '--config.data.context_length=12',
]
ROUTED = {'score': {'use': 'jax.nn:softmax'}, 'renormalised': True}
SIGMOID = {'score': {'use': 'jax.nn:sigmoid'}, 'renormalised': True}
GATED = {'use': 'feedforward.gated:Gated', 'activation': {'use': 'jax.nn:silu'}, 'ratio': 1.0}
REPORTED = {'balance_loss', 'router_z_loss', 'expert_load_max', 'dropped', 'overflow'}
STEPS = 20


def config(router, **fields):
    mixture = {'use': 'feedforward.mixture:Mixture', 'experts': 4, 'active': 2, 'expert': GATED, 'router': router}
    return load_config(QUICKSTART, [*SMALL, f'--config.model.block.feedforward={mixture | fields}'])


def trained(given, accumulate):
    """Metrics of each step of learning one batch by heart."""
    task = build(given['task'])()
    schedule = optax.constant_schedule(3e-3)
    learner = Learner(build(given['model'])(), task, optax.adam(3e-3), schedule, 'float32', accumulate)
    tokens = jnp.array(np.random.default_rng(0).integers(0, 32, (4, 13)), jnp.int32)
    positions = jnp.tile(jnp.arange(13), (4, 1))
    batch = {'tokens': tokens, 'segments': jnp.ones_like(tokens), 'positions': positions}
    state = jax.jit(learner.init)(jax.random.key_data(jax.random.key(0)), batch)
    step, metrics = jax.jit(learner.train_step), []
    for _ in range(STEPS):
        state, found = step(state, batch)
        metrics.append({name: np.asarray(value) for name, value in found.items()})
    return metrics, state


@pytest.mark.parametrize(
    ('router', 'fields', 'accumulate'),
    [
        ({'use': 'feedforward.token_choice:TokenChoice', 'capacity': 1.0, 'noisy': True, 'z': 0.001, **ROUTED}, {}, 2),
        ({'use': 'feedforward.loss_free:LossFree', **SIGMOID}, {'shared': GATED}, 1),
    ],
)
@pytest.mark.long
def test_it_learns_and_its_metrics_are_logged(router, fields, accumulate):
    metrics, state = trained(config(router, **fields), accumulate)
    assert metrics[0].keys() >= REPORTED | {'loss', 'cross_entropy'}
    assert all(np.isfinite(value).all() for found in metrics for value in found.values())
    assert metrics[-1]['cross_entropy'] < metrics[0]['cross_entropy'] - 0.2
    bounded = 'capacity' in router
    assert (metrics[0]['overflow'] > 0) == bounded
    weighted = 2 * (0.01 * metrics[0]['balance_loss'] + 0.001 * metrics[0]['router_z_loss'])  # two layers
    added = metrics[0]['loss'] - metrics[0]['cross_entropy']
    assert added == pytest.approx(weighted if bounded else 0.0, abs=1e-5)
    bias = state.params['layers']['pattern_0']['feedforward']['router'].get('balance_bias', jnp.ones(()))
    assert np.abs(bias).max() > 0


def test_expert_choice_is_refused_in_a_language_model():
    with pytest.raises(UserError, match='expert_choice:ExpertChoice'):
        trained(config({'use': 'feedforward.expert_choice:ExpertChoice'}), 1)
