# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The temperature of a dual encoder: bounded after a step of training, and not in the forward pass."""

import math
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.train.initial import run_param_shapes
from saccade.train.setup import make_learner
from saccade.types import UserError

PAIRS = Path(__file__).parents[2] / 'experiments/pairs'
RELATIVE = 1e-6


def experiment(name, *changes):
    return Experiment.of(load_config(str(PAIRS / f'{name}.py'), [f'--config.{change}' for change in changes]))


@pytest.mark.long
@pytest.mark.parametrize('name', ['clip', 'siglip'])
def test_no_step_ends_with_a_factor_above_the_bound_and_the_next_may_lower_it(name):
    given = experiment(name, 'schedule.warmup=0', 'schedule.peak=0.01', 'optimizer.clip_norm=None')
    learner, params = make_learner(given), jax.tree.map(lambda leaf: jnp.zeros(leaf.shape), run_param_shapes(given))
    params['logit_scale'] = jnp.array(math.log(99.9))
    state = learner.optimizer.init(params)
    factors = []
    for slope in (-1.0, -1.0, 1e3):
        gradient = jax.tree.map(jnp.zeros_like, params) | {'logit_scale': jnp.array(slope)}
        updates, state = learner.optimizer.update(gradient, state, params)
        params = optax.apply_updates(params, updates)
        factors.append(jnp.exp(params['logit_scale']))
    np.testing.assert_allclose(factors[:2], 100.0, rtol=RELATIVE)
    assert 99.0 < factors[2] < 99.5


@pytest.mark.parametrize('name', ['clip', 'siglip'])
def test_above_the_bound_the_factor_is_what_it_is_and_has_a_gradient(name):
    model = experiment(name).model()

    def factor(scale):
        params = {'logit_scale': scale, 'logit_bias': jnp.array(0.0)}
        return model.apply({'params': params}, method='logit_line')[0]

    found = jax.value_and_grad(factor)(jnp.array(math.log(150.0)))
    np.testing.assert_allclose(found, 150.0, rtol=RELATIVE)


def test_refuses_to_start_above_the_bound():
    with pytest.raises(UserError, match=r'logit_scale 150\.0 is above max_scale 100\.0'):
        run_param_shapes(experiment('clip', 'model.logit_scale=150.0'))
