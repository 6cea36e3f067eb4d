# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Three ways of processing sequences in one block: recurrence, convolution, attention; and how far apart tokens are."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.ops.flops import flops, sequential_steps
from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.types import LayerContext, UserError

CONFIG = Path(__file__).parents[2] / 'experiments' / 'causal_lm' / 'minimal.py'
D = 8
RECURRENT = {'use': 'recurrent.mixer.recurrent:Recurrent', 'cell': {'use': 'recurrent.cell.rnn:RNN', 'width': D}}
CONVOLUTION = {'use': 'recurrent.mixer.convolution:Convolution', 'size': 3, 'depthwise': False}
ATTENTION = {
    'use': 'attention.multi_head:MultiHead',
    'heads': 2,
    'kernel': {'use': 'attention.plain:Plain'},
    'mask': {'use': 'ops.mask:Causal'},
    'position': {'use': 'position.none:NoPosition'},
}


def mixer(spec, length, segments=None):
    """A mixer's function of one row, with parameters as training begins; and a row."""
    module, layer_context = build(spec)(), LayerContext(jnp.arange(length)[None], segments)
    x = jnp.array(np.random.default_rng(0).normal(size=(1, length, D)), jnp.float32)
    params = module.init(jax.random.key(0), x)
    return lambda x: module.apply(params, x, layer_context, False, None, method='mix')[0], x


@pytest.mark.parametrize('spec', [RECURRENT, CONVOLUTION, ATTENTION], ids=['recurrence', 'convolution', 'attention'])
def test_one_task_config_has_any_of_them_for_a_mixer(spec):
    config = load_config(str(CONFIG), [f'--config.model.block.mixer={spec}'])
    experiment = Experiment.of(config)
    model, tokens = experiment.model(), jnp.zeros((2, 6), jnp.int32)
    layer_context = LayerContext(jnp.tile(jnp.arange(6), (2, 1)))
    shapes = jax.eval_shape(lambda: model.init(jax.random.key(0), tokens, layer_context, False))
    logits = jax.eval_shape(lambda params: model.apply(params, tokens, layer_context, False), shapes)
    assert logits.shape == (2, 6, model.vocabulary)
    assert experiment.model['block']['mixer'].name == spec['use']


@pytest.mark.long
def test_tokens_n_apart_are_n_steps_apart_in_a_recurrence_and_one_in_attention():
    for length in (8, 32):
        recurrence, x = mixer(RECURRENT, length)
        attention, _ = mixer(ATTENTION, length)
        assert sequential_steps(recurrence, x) == length
        assert sequential_steps(attention, x) == 0
        for function in (recurrence, attention):
            by_first = jax.grad(lambda x, function=function: function(x)[0, -1].sum())(x)[0, 0]
            assert np.abs(by_first).max() > 0


@pytest.mark.long
def test_work_of_a_recurrence_and_a_convolution_grows_with_the_length_and_that_of_attention_with_its_square():
    def counted(spec):
        return [flops(*mixer(spec, length)) for length in (8, 16, 32)]

    for spec in (RECURRENT, CONVOLUTION):
        once, twice, four_times = counted(spec)
        assert (twice, four_times) == (2 * once, 4 * once) != (0, 0)
    projections = [length * 4 * 2 * D * D for length in (8, 16, 32)]
    pairs = np.subtract(counted(ATTENTION), projections)
    np.testing.assert_array_equal(pairs, [length**2 * 2 * 2 * D for length in (8, 16, 32)])


@pytest.mark.long
def test_a_convolution_reaches_as_far_as_its_taps():
    convolution, x = mixer(CONVOLUTION, 8)
    by_x = jax.grad(lambda x: convolution(x)[0, -1].sum())(x)[0]
    np.testing.assert_array_equal(np.abs(by_x).max(-1) > 0, np.arange(8) >= 8 - 3)


@pytest.mark.long
def test_what_the_first_token_says_to_the_last_passes_through_every_state_between():
    """One document more in the middle is enough to cut a recurrence in two; attention looks past it."""
    segments = jnp.array([[1, 1, 1, 2, 1, 1, 1, 1]])
    for spec, cut in ((RECURRENT, True), (ATTENTION, False)):
        function, x = mixer(spec, 8, segments)
        by_x = jax.grad(lambda x, function=function: function(x)[0, -1].sum())(x)[0]
        assert (np.abs(by_x[0]).max() == 0) == cut


@pytest.mark.parametrize(
    ('use', 'more'),
    [
        ('recurrent.mixer.bidirectional:Bidirectional', {'cell': RECURRENT['cell']}),
        ('recurrent.mixer.centred_convolution:CentredConvolution', {'size': 3, 'depthwise': True}),
    ],
)
def test_what_looks_ahead_is_refused_by_a_causal_model(use, more):
    config = load_config(str(CONFIG), [f'--config.model.block.mixer={ {"use": use, **more} }'])
    model, tokens = Experiment.of(config).model(), jnp.zeros((1, 4), jnp.int32)
    with pytest.raises(UserError, match=f'is causal: it does not support {use}'):
        jax.eval_shape(lambda: model.init(jax.random.key(0), tokens, LayerContext(jnp.arange(4)[None]), False))
