# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Mixers side by side: their sum, and heads of one kind that are split between two mixers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.types import LayerContext, UserError

F32_RELATIVE = 1e-5  # of the largest element
B, T, D, H = 2, 7, 16, 4
ATTENTION = {'use': 'attention.multi_head:MultiHead', 'head_width': H, 'mask': {'use': 'ops.mask:Causal'}}
LINEAR = {'use': 'attention.gated_linear:GatedLinear', 'heads': 2, 'chunk': 3}
X = jnp.array(np.random.default_rng(0).normal(size=(B, T, D)), jnp.float32)
CONTEXT = LayerContext(jnp.tile(jnp.arange(T), (B, 1)))


def side_by_side(*mixers, **more):
    return build({'use': 'attention.side_by_side:SideBySide', 'mixers': list(mixers), **more})()


def drawn(module):
    random = np.random.default_rng(1)
    shapes = jax.eval_shape(lambda: module.init(jax.random.key(0), X, CONTEXT, False))['params']
    return jax.tree.map(lambda leaf: jnp.array(random.normal(size=leaf.shape, scale=0.5), leaf.dtype), shapes)


def run(module, params):
    return jax.jit(lambda params: module.apply({'params': params}, X, CONTEXT, False))(params)


def assert_near(given, expected):
    np.testing.assert_allclose(given, expected, rtol=0, atol=F32_RELATIVE * np.abs(expected).max())


@pytest.mark.long
def test_the_output_is_the_scaled_sum_of_the_mixers_outputs():
    mixers = ATTENTION | {'heads': 2}, LINEAR
    module = side_by_side(*mixers, norm=None, scales=[0.5, -2.0])
    params = drawn(module)
    attended, read = (run(build(spec)(), params[f'mixers_{number}']) for number, spec in enumerate(mixers))
    assert_near(run(module, params), 0.5 * attended - 2.0 * read)


@pytest.mark.long
def test_normalised_outputs_are_averaged():
    mixers = ATTENTION | {'heads': 2}, LINEAR
    module = side_by_side(*mixers)
    params = drawn(module)
    expected = 0.0
    for number, spec in enumerate(mixers):
        y = np.float64(run(build(spec)(), params[f'mixers_{number}']))
        y /= np.sqrt((y * y).mean(axis=-1, keepdims=True) + 1e-6)
        expected = expected + params[f'norm_{number}']['scale'] * y / 2
    assert_near(run(module, params), expected)


def test_heads_split_between_two_mixers_of_one_kind_are_one_mixer():
    module = side_by_side(*(ATTENTION | {'heads': heads} for heads in (1, 3)), norm=None, scales=[1.0, 1.0])
    params = drawn(module)
    halves = [params[f'mixers_{number}'] for number in range(2)]
    axis = {'output': 0}
    joined = {name: jnp.concatenate([half[name] for half in halves], axis=axis.get(name, 1)) for name in halves[0]}
    assert_near(run(module, params), run(build(ATTENTION | {'heads': 4})(), joined))


def test_another_number_of_scales_is_refused():
    with pytest.raises(UserError, match=r'attention\.side_by_side:SideBySide: 1 scales for 2 mixers'):
        drawn(side_by_side(LINEAR, LINEAR, scales=[1.0]))
