# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The quickstart takes a training step with each, named on the command line; what cannot be causal is refused."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from saccade.build import build
from saccade.train.config import load_config
from saccade.train.learner import Learner
from saccade.types import LayerContext, UserError

pytestmark = pytest.mark.long
QUICKSTART = str(Path(__file__).parents[2] / 'experiments/causal_lm/quickstart.py')
SMALL = ('width=24', 'layers=2', 'vocabulary=32', 'context_length=12')
KERNEL, MIXER = 'block.mixer.kernel', 'block.mixer'
SHORT = {'use': 'recurrent.mixer.convolution:Convolution', 'size': 4, 'depthwise': True}
CHOICES = {
    'linear': (KERNEL, {'use': 'attention.linear:Linear', 'chunk': 4}),
    'linear, relu': (KERNEL, {'use': 'attention.linear:Linear', 'feature': {'use': 'jax.nn:relu'}}),
    'performer': (KERNEL, {'use': 'attention.performer:Performer', 'random_features': 16}),
    'cosformer': (KERNEL, {'use': 'attention.cosformer:CosFormer', 'length': 13}),
    'retention': (MIXER, {'use': 'attention.retention:Retention', 'heads': 6, 'value_width': 8}),
    'delta': (MIXER, {'use': 'attention.delta:Delta', 'heads': 6, 'decay': False}),
    'gated delta': (MIXER, {'use': 'attention.delta:Delta', 'heads': 6, 'gate': {'use': 'jax.nn:silu'}}),
    'mamba2': (MIXER, {'use': 'attention.mamba2:Mamba2', 'heads': 6, 'convolution': SHORT}),
    'kimi delta': (MIXER, {'use': 'attention.kimi_delta:KimiDelta', 'heads': 6, 'gate_rank': 4, 'convolution': SHORT}),
}
LINFORMER = {'use': 'attention.linformer:Linformer', 'length': 12, 'slots': 4}


def model_of(field, part, *more):
    overrides = [f'--config.model.{given}' for given in (*SMALL, f'{field}={part}', *more)]
    return load_config(QUICKSTART, overrides)


def batch():
    random = np.random.default_rng(0)
    segments = np.array([[1] * 6 + [2] * 5 + [0] * 2, [1] * 13])
    rows = {
        'tokens': random.integers(0, 32, (2, 13)),
        'segments': segments,
        'positions': np.tile(np.arange(13), (2, 1)),
    }
    return {name: jnp.asarray(row, jnp.int32) for name, row in rows.items()}


@pytest.mark.parametrize('name', CHOICES)
def test_it_takes_a_training_step(name):
    config = model_of(*CHOICES[name])
    learner = Learner(
        build(config['model'])(), build(config['task'])(), optax.sgd(0.1), optax.constant_schedule(0.1), dtype='float32'
    )
    state = jax.jit(learner.init)(jax.random.key_data(jax.random.key(0)), batch())
    after, metrics = jax.jit(learner.train_step)(state, batch())
    assert np.isfinite(float(metrics['loss']))
    moved = jax.tree.map(lambda a, b: np.isfinite(a).all() and np.abs(a - b).max() > 0, after.params, state.params)
    assert all(jax.tree.leaves(moved['layers']))


def test_linformer_is_refused_by_a_causal_model_and_trains_in_one_that_is_not():
    task, model = build(model_of(KERNEL, LINFORMER)['task'])(), build(model_of(KERNEL, LINFORMER)['model'])()
    with pytest.raises(UserError, match=r'attention\.linformer:Linformer'):
        task.init(model, jax.random.key(0), batch())
    mixer = {
        'use': 'attention.multi_head:MultiHead',
        'heads': 6,
        'kernel': LINFORMER,
        'mask': {'use': 'ops.mask:Full'},
        'position': {'use': 'position.none:NoPosition'},
    }
    module, x = build(mixer)(), jnp.array(np.random.default_rng(0).normal(size=(2, 12, 24)), jnp.float32)
    context = LayerContext(jnp.tile(jnp.arange(12), (2, 1)))
    params = module.init(jax.random.key(0), x, context, False)
    gradients = jax.jit(jax.grad(lambda params: jnp.square(module.apply(params, x, context, True) - x).mean()))(params)
    assert all(np.isfinite(leaf).all() and np.abs(leaf).max() > 0 for leaf in jax.tree.leaves(gradients))
