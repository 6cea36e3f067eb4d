# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels with each softmax: the same from blocks as from the matrix, and no cost of weights that nobody reads."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.types import LayerContext

F32_RELATIVE = 1e-5  # of the largest element
B, T, D, N = 2, 11, 16, 4
X = jnp.array(np.random.default_rng(0).normal(size=(B, T, D)), jnp.float32)
PACKED = LayerContext(
    jnp.array([[0, 0, 1, 2, 3, 0, 1, 2, 3, 4, 0], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]]),
    jnp.array([[0, 1, 1, 1, 1, 2, 2, 2, 2, 2, 0], [1] * T]),
)

PLAIN = {'use': 'attention.plain:Plain'}
ONLINE = {
    'softmax': {'use': 'softmax.softmax:Softmax'},
    'learned sink': {'use': 'softmax.sink:LearnedSink'},
    'softmax plus one': {'use': 'softmax.softmax_one:SoftmaxOne'},
    'sigmoid': {'use': 'softmax.sigmoid:Sigmoid', 'length': 6},
}
KERNELS = (
    PLAIN,
    {**PLAIN, 'query_chunks': 3},
    {'use': 'attention.blockwise:Blockwise', 'query_block': 4, 'key_block': 3},
)


def mixer(kernel):
    return build({
        'use': 'attention.multi_head:MultiHead', 'heads': N, 'key_value_heads': 2, 'kernel': kernel,
        'mask': {'use': 'ops.mask:Causal'}, 'position': {'use': 'position.relative_bias:RelativeBias', 'furthest': 64},
    })()  # fmt: skip


def params_of(module):
    random = np.random.default_rng(1)
    shapes = jax.eval_shape(lambda: module.init(jax.random.key(0), X, PACKED, False))['params']
    return jax.tree.map(lambda leaf: jnp.array(random.normal(size=leaf.shape, scale=0.4), leaf.dtype), shapes)


def assert_near(given, expected):
    given, expected = np.asarray(given), np.asarray(expected)
    assert np.isfinite(given).all()
    np.testing.assert_allclose(given, expected, rtol=0, atol=F32_RELATIVE * np.abs(expected).max())


@pytest.mark.long
@pytest.mark.parametrize('name', ONLINE)
def test_kernels_agree_in_outputs_and_gradients(name):
    """With dropout, in packed rows; every parameter has a gradient, that of the softmax among them."""
    params = params_of(mixer({**PLAIN, 'softmax': ONLINE[name]}))

    def loss(params, x, kernel):
        module = mixer({**kernel, 'dropout': 0.3, 'softmax': ONLINE[name]})
        y = module.apply({'params': params}, x, PACKED, True, rngs={'dropout': jax.random.key(0)})
        return (X * y).sum(), y

    @jax.jit
    def run(params, x):
        return [jax.grad(loss, (0, 1), has_aux=True)(params, x, kernel) for kernel in KERNELS]

    expected, *others = run(params, X)
    assert all(np.abs(leaf).max() > 0 for leaf in jax.tree.leaves(expected))
    for other in others:
        jax.tree.map(assert_near, other, expected)


@pytest.mark.parametrize('name', ONLINE)
def test_weights_that_nobody_asks_for_cost_nothing(name):
    """Bytes that the compiled program gives back and holds beside: fewer by a matrix a head than with the weights."""
    module = mixer({**PLAIN, 'softmax': ONLINE[name]})
    params = params_of(module)

    def size(mutable):
        run = jax.jit(lambda params, x: module.apply({'params': params}, x, PACKED, False, mutable=mutable))
        memory = run.lower(params, X).compile().memory_analysis()
        return memory.output_size_in_bytes

    assert size(False) == X.nbytes
    assert size(['pattern']) >= X.nbytes + 4 * B * N * T * T
