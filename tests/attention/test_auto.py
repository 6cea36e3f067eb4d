# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The kernel that is chosen from a list: the first that can, with the reasons against those before it."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.attention.auto import choices
from saccade.build import build
from saccade.ops.devices import traced_for
from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.train.mesh import devices_of, make_mesh
from saccade.train.plan import kernel_lines
from saccade.train.setup import batches_like, make_learner
from saccade.types import LayerContext, UserError

B, T, D = 2, 9, 16
X = jnp.array(np.random.default_rng(0).normal(size=(B, T, D)), jnp.float32)
CONTEXT = LayerContext(jnp.broadcast_to(jnp.arange(T), (B, T)))
SPLASH = {'use': 'attention.splash:Splash', 'interpret': True}
PLAIN, BLOCKWISE = {'use': 'attention.plain:Plain'}, {'use': 'attention.blockwise:Blockwise'}
CONFIG = Path(__file__).parents[2] / 'experiments/causal_lm/quickstart.py'


def auto(*kernels, **fields):
    kernel = {'use': 'attention.auto:Auto', **fields} | ({'kernels': list(kernels)} if kernels else {})
    return mixer(kernel)


def mixer(kernel, **changes):
    spec = {'use': 'attention.multi_head:MultiHead', 'heads': 4, 'kernel': kernel, 'mask': {'use': 'ops.mask:Causal'}}
    return build(spec | {'position': {'use': 'position.none:NoPosition'}} | changes)()


def chosen(module, train=False):
    params = jax.eval_shape(lambda: module.init(jax.random.key(0), X, CONTEXT, False))
    with choices() as made:
        rngs = {'dropout': jax.random.key(1)}
        jax.eval_shape(lambda params: module.apply(params, X, CONTEXT, train, rngs=rngs), params)
    return made


def test_the_first_that_can_is_taken():
    assert [each.name for each in chosen(auto(SPLASH, BLOCKWISE))] == ['attention.splash:Splash']
    assert [each.name for each in chosen(auto(PLAIN, SPLASH))] == ['attention.plain:Plain']


@pytest.mark.skipif(jax.default_backend() != 'cpu', reason='of a CPU')
def test_by_default_a_cpu_gets_blockwise_and_a_reason():
    (choice,) = chosen(auto())
    assert choice.name == 'attention.blockwise:Blockwise'
    assert 'attention.splash:Splash supports only TPUs, not cpu' in choice.reasons[0]


def test_dropout_in_training_alone_is_a_reason():
    module = auto(SPLASH, BLOCKWISE, dropout=0.5)
    assert [each.name for each in chosen(module)] == ['attention.splash:Splash']
    (choice,) = chosen(module, train=True)
    assert (choice.name, choice.reasons) == (
        'attention.blockwise:Blockwise',
        ('attention.splash:Splash does not support attention dropout',),
    )


def test_none_that_can_is_refused_with_all_reasons():
    module = build(
        {
            'use': 'attention.multi_head:MultiHead',
            'heads': 4,
            'kernel': {'use': 'attention.auto:Auto', 'kernels': [SPLASH]},
            'mask': {'use': 'ops.mask:Strided', 'stride': 2},
            'position': {'use': 'position.none:NoPosition'},
        }
    )()
    with pytest.raises(UserError, match=r'attention\.auto:Auto: none of its kernels.*ops\.mask:Strided'):
        chosen(module)


def test_fields_of_its_own_are_refused_on_its_kernels():
    with pytest.raises(UserError, match=r'set dropout on attention\.auto:Auto'):
        chosen(auto({**PLAIN, 'dropout': 0.1}))


def test_parameters_are_those_of_any_kernel():
    sink = {'softmax': {'use': 'softmax.sink:LearnedSink'}}
    trees = [
        jax.tree.structure(jax.eval_shape(lambda module=module: module.init(jax.random.key(0), X, CONTEXT, False)))
        for module in (auto(**sink), mixer({**BLOCKWISE, **sink}), mixer({**SPLASH, **sink}))
    ]
    assert trees[0] == trees[1] == trees[2]


@pytest.mark.long
def test_a_mesh_says_which_platform_is_meant():
    module = auto()
    params = module.init(jax.random.key(0), X, CONTEXT, False)
    with choices() as made, traced_for(devices_of(make_mesh({'data': -1}, jax.devices()))):
        jax.eval_shape(lambda: module.apply(params, X, CONTEXT, False))
    assert made[0].name == 'attention.blockwise:Blockwise'


@pytest.mark.long
def test_the_plan_names_the_kernel_of_each_layer_and_why():
    flags = ["model.block.mixer.kernel={'use': 'attention.auto:Auto'}", 'model.layers=2', 'batch_size=2']
    experiment = Experiment.of(load_config(str(CONFIG), [f'--config.{flag}' for flag in flags]))
    learner, (like,) = make_learner(experiment), batches_like(experiment)
    key = jax.random.key_data(jax.random.key(0))
    state = jax.eval_shape(learner.init, key, like)
    with choices() as made:
        jax.eval_shape(lambda *step: learner.train_step(*step), state, like)
    lines = kernel_lines(made)
    assert len(lines) == 1
    assert lines[0].startswith('kernel      ')
    assert 'mixer/kernel: attention.blockwise:Blockwise (attention.splash:Splash supports only TPUs' in lines[0]
