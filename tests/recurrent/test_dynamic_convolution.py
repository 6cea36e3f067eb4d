# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Lightweight and dynamic convolution: the authors' outputs, and what their taps depend on."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.types import UserError

T, D, N, M = 5, 4, 2, 3
ROOM = 'recurrent.mixer.'
USES = {
    'lightweight': f'{ROOM}lightweight_convolution:LightweightConvolution',
    'dynamic': f'{ROOM}dynamic_convolution:DynamicConvolution',
}
# Outputs of LightweightConv1dTBC and DynamicConv1dTBC, fairseq at 3d262bb, between the projections of `waves`, without
# biases and with torch's GLU; with weight_softmax, and padding_l of M - 1.
RECORDED = {
    'lightweight': [
        [-0.033595, -0.056718, -0.027694, 0.026791],
        [0.142268, -0.057624, -0.204537, -0.163399],
        [0.045242, 0.053321, 0.012377, -0.039946],
        [-0.0782, -0.055639, 0.018076, 0.075172],
        [0.140412, 0.007016, -0.132831, -0.150553],
    ],
    'dynamic': [
        [0.03633, -0.026523, -0.064991, -0.043707],
        [0.096557, -0.025432, -0.124039, -0.108605],
        [-0.007547, -0.029593, -0.024431, 0.003193],
        [0.026824, 0.027412, 0.002798, -0.024389],
        [0.115792, 0.052255, -0.059324, -0.116361],
    ],
}


def waves(*shape, start=0.0):
    return jnp.array(np.sin(start + np.arange(np.prod(shape))).reshape(shape), jnp.float32)


def params_of(name):
    taps = waves(M, N, start=5) if name == 'lightweight' else waves(D, M, N, start=4)
    return {
        'value': waves(D, D, start=1),
        'gate': waves(D, D, start=2),
        'output': waves(D, D, start=3),
        'taps': taps,
    }


def module_of(name, **more):
    return build({'use': USES[name], 'size': M, 'heads': N, **more})()


@pytest.mark.oracle_of(
    'recurrent.mixer.dynamic_convolution:DynamicConvolution',
    'recurrent.mixer.lightweight_convolution:LightweightConvolution',
    by='fairseq',
)
@pytest.mark.parametrize('name', USES)
def test_outputs_are_those_that_the_authors_code_gave(name):
    found = module_of(name).apply({'params': params_of(name)}, waves(1, T, D))
    np.testing.assert_allclose(found[0], RECORDED[name], atol=2e-6)


def test_dynamic_taps_without_weights_are_those_of_a_mean():
    params = params_of('dynamic') | {'taps': jnp.zeros((D, M, N))}
    even = params_of('lightweight') | {'taps': jnp.zeros((M, N))}
    x = waves(1, T, D)
    expected = module_of('lightweight').apply({'params': even}, x)
    np.testing.assert_allclose(module_of('dynamic').apply({'params': params}, x), expected, atol=1e-6)


@pytest.mark.parametrize('name', USES)
def test_taps_are_dropped_in_training(name):
    module, given = module_of(name, tap_dropout=0.5), ({'params': params_of(name)}, waves(1, T, D), None)
    dropped = [module.apply(*given, True, rngs={'dropout': jax.random.key(seed)}) for seed in range(2)]
    assert np.abs(dropped[0] - dropped[1]).max() > 1e-3
    np.testing.assert_allclose(module.apply(*given, False)[0], RECORDED[name], atol=2e-6)


def test_heads_that_do_not_divide_the_width_are_refused():
    with pytest.raises(UserError, match='not divisible by 3 heads'):
        module_of('dynamic', heads=3).init(jax.random.key(0), waves(1, T, D))
