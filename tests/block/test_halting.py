# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Universal Transformer with halting: its special cases, and the loss and the passes that it reports."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from toy_branches import TOYS

from saccade.block.halting import Halting
from saccade.block.pre_norm import PreNorm
from saccade.types import LayerContext

B, T, D = 2, 4, 6
X = jnp.array(np.random.default_rng(0).normal(size=(B, T, D)), jnp.float32)
SEGMENTS = jnp.array([[1, 1, 1, 0], [1, 1, 1, 1]])
CONTEXT = LayerContext(jnp.tile(jnp.arange(T), (B, 1)), SEGMENTS)
REAL = 7  # tokens


def block(bias, **fields):
    """The block with e = 0 and w = 0, so that every token halts by the bias alone; the layer, and its parameters."""
    module = Halting(**TOYS, **fields)
    params = module.init(jax.random.key(0), X, CONTEXT)['params']
    zeros = {name: jnp.zeros_like(params[name]) for name in ('step', 'halt')}
    return module, params | zeros | {'halt_bias': jnp.float32(bias)}


def repeated(params, times):
    outputs = [X]
    for _ in range(times):
        outputs.append(PreNorm(**TOYS).apply({'params': params['layer']}, outputs[-1], CONTEXT))
    return outputs[1:]


@pytest.mark.parametrize('bias', [-3.0, 0.0, 3.0])
def test_one_pass_is_the_layer(bias):
    module, params = block(bias, passes=1)
    np.testing.assert_allclose(module.apply({'params': params}, X, CONTEXT), repeated(params, 1)[-1], atol=1e-6)


def test_tokens_that_never_halt_leave_with_the_last_pass():
    module, params = block(-40.0, passes=3)
    np.testing.assert_allclose(module.apply({'params': params}, X, CONTEXT), repeated(params, 3)[-1], atol=1e-6)


@pytest.mark.parametrize(
    ('p', 'shares'), [(0.4, [0.4, 0.4, 0.2]), (0.995, [1.0]), (0.6, [0.6, 0.4]), (0.2, [0.2, 0.2, 0.2, 0.4])]
)
def test_the_output_is_the_mean_by_halting_probabilities_and_the_loss_counts_passes_and_the_rest(p, shares):
    module, params = block(np.log(p / (1 - p)), passes=4, ponder=0.5)
    y, reports = module.apply({'params': params}, X, CONTEXT, mutable=['losses', 'metrics'])
    expected = sum(share * made for share, made in zip(shares, repeated(params, len(shares)), strict=True))
    np.testing.assert_allclose(y, expected, atol=1e-5)
    (passes,), (ponder,) = reports['metrics']['passes'], reports['losses']['ponder']
    assert passes.weight == REAL
    np.testing.assert_allclose(passes.mean(), len(shares), rtol=1e-6)
    np.testing.assert_allclose(ponder.mean(), 0.5 * (len(shares) + shares[-1]), rtol=1e-5)


@pytest.mark.long
def test_the_ponder_loss_pushes_towards_halting_early():
    module, params = block(-1.0, passes=4)

    def loss(params):
        return module.apply({'params': params}, X, CONTEXT, mutable=['losses'])[1]['losses']['ponder'][0].mean()

    assert jax.grad(loss)(params)['halt_bias'] < 0
