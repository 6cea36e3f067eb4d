# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Schedule-free training: steps equal to optax's, with the average in the state and not in the optimizer."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from saccade.ops.statistic import move
from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.train.learner import Learner
from saccade.types import Task, Total, UserError

BETA, RATE = 0.9, 0.03
SCALES = np.arange(1.0, 5.0)
QUICKSTART = Path(__file__).parents[2] / 'experiments/causal_lm/quickstart.py'


class Quadratic(Task):
    """Task with the loss of a quadratic bowl, moved by each batch."""

    def init(self, model, key, batch):
        return {'w': jax.random.normal(key, (4,)), 'running_mean': jnp.zeros(())}

    def loss(self, model, params, batch, key, train):
        difference = (params['w'] - batch['target']) * SCALES
        mean = params['running_mean']
        return {'loss': Total(jnp.sum(difference**2) + move(mean, batch['target'].mean()), jnp.ones(()))}


def learner(schedule, rule):
    rules = {'learned': optax.chain(rule, optax.scale_by_learning_rate(schedule)), 'statistic': optax.scale(-1.0)}
    made = optax.partition(rules, {'w': 'learned', 'running_mean': 'statistic'})
    return Learner(None, Quadratic(), made, schedule, 'float32', schedule_free=BETA)


def gradient(w, target):
    return 2 * SCALES**2 * (w - target)


def batches(count):
    random = np.random.default_rng(0)
    return [{'target': jnp.array(random.normal(size=4), jnp.float32)} for _ in range(count)]


@pytest.mark.parametrize('rule', ['sgd', 'adam'])
def test_steps_are_those_of_optax(rule):
    rule = {'sgd': optax.identity(), 'adam': optax.scale_by_adam(b1=0.0)}[rule]
    this = learner(optax.constant_schedule(RATE), rule)
    state = this.init(jax.random.key_data(jax.random.key(0)), batches(1)[0])
    theirs = optax.contrib.schedule_free(optax.chain(rule, optax.scale_by_learning_rate(RATE)), RATE, b1=BETA)
    y = {'w': state.params['w']}
    inner = theirs.init(y)
    for batch in batches(12):
        state, _ = jax.jit(this.train_step)(state, batch)
        updates, inner = theirs.update({'w': gradient(y['w'], batch['target'])}, inner, y)
        y = optax.apply_updates(y, updates)
        average = optax.contrib.schedule_free_eval_params(inner, y)
        np.testing.assert_allclose(state.averaged['w'], average['w'], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(this._point(state)['w'], y['w'], rtol=1e-5, atol=1e-6)


def test_a_rate_that_warms_up_weighs_by_its_square_and_statistics_are_not_averaged():
    schedule = optax.warmup_constant_schedule(0.0, RATE, 3)
    this = learner(schedule, optax.identity())
    state = this.init(jax.random.key_data(jax.random.key(0)), batches(1)[0])
    z = x = np.float64(state.params['w'])
    rates = [float(schedule(step)) for step in range(8)]
    for step, batch in enumerate(batches(8)):
        state, _ = jax.jit(this.train_step)(state, batch)
        z = z - rates[step] * gradient((1 - BETA) * z + BETA * x, np.float64(batch['target']))
        if step:  # the first rate is zero
            share = rates[step] ** 2 / np.square(rates[: step + 1]).sum()
            x = (1 - share) * x + share * z
        np.testing.assert_allclose(state.averaged['w'], x, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(state.averaged['running_mean'], batch['target'].mean(), rtol=1e-6)


def test_one_average_is_evaluated():
    config = load_config(str(QUICKSTART), ['--config.schedule_free=0.9', '--config.ema=0.99'])
    with pytest.raises(UserError, match=r'config\.schedule_free: evaluation uses one average; set config\.ema to 0'):
        Experiment.of(config)
