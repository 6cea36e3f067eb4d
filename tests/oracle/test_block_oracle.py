# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Manifold-constrained hyper-connections against DeepSeek-V4 of `transformers`, on copied weights."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.types import LayerContext

torch = pytest.importorskip('torch', reason='the oracle extra is not installed: torch')
with warnings.catch_warnings():
    # What these libraries warn of as they are imported is not ours to mend.
    warnings.simplefilter('ignore')
    v4 = pytest.importorskip('transformers.models.deepseek_v4.modeling_deepseek_v4', reason='transformers is missing')

pytestmark = pytest.mark.oracle

F32_RELATIVE = 1e-5  # of the largest element
B, T, D, R, L = 2, 5, 6, 3, 2


def of_connection(theirs):
    """Their parameters as ours; they mix streams by the transpose of a matrix whose columns sum to one."""
    weights, biases = (x.detach().numpy() for x in (theirs.fn.T, theirs.base))
    read, add, keep = np.split(weights, [R, 2 * R], axis=-1)
    read_bias, add_bias, keep_bias = np.split(biases, [R, 2 * R])
    scales = theirs.scale.detach().numpy()
    return {
        **{'read': read, 'add': add, 'keep': np.swapaxes(keep.reshape(-1, R, R), 1, 2)},
        **{'read_bias': read_bias, 'add_bias': add_bias, 'keep_bias': keep_bias.reshape(R, R).T},
        **{f'{name}_scale': scale for name, scale in zip(('read', 'add', 'keep'), scales, strict=True)},
    }


@pytest.mark.oracle_of('block.manifold_hyper_connections:ManifoldHyperConnections', by='transformers, DeepSeek-V4')
def test_manifold_hyper_connections_are_those_of_deepseek():
    """Two layers of one linear branch, without the numbers that theirs adds to denominators and weights."""
    config = v4.DeepseekV4Config(hidden_size=D, hc_mult=R, hc_sinkhorn_iters=7, hc_eps=0.0, rms_norm_eps=1e-6)
    torch.manual_seed(0)
    connections, kernels = [v4.DeepseekV4HyperConnection(config) for _ in range(L)], 0.5 * torch.randn(L, D, D)
    with torch.no_grad():
        for leaf in torch.nn.ModuleList(connections).parameters():
            leaf.normal_(std=0.7)
    x, dy = torch.randn(B, T, D, requires_grad=True), torch.randn(B, T, D)
    streams = x[:, :, None].repeat(1, 1, R, 1)
    for connection, kernel in zip(connections, kernels, strict=True):
        add, mix, z = connection(streams)
        streams = add[..., None] * (z @ kernel)[..., None, :] + mix.transpose(-1, -2) @ streams
    expected = streams.sum(dim=2)
    expected.backward(dy)

    linear = {'use': 'recurrent.mixer.convolution:Convolution', 'size': 1, 'depthwise': False, 'bias': False}
    block = {
        'use': 'block.manifold_hyper_connections:ManifoldHyperConnections',
        'streams': R,
        'dynamic': True,
        'iterations': 7,
        'mixer': linear,
        'feedforward': None,
        'norm': {'use': 'norm.rms:RMSNorm', 'scale': False},
        'norms': {'mixer': {'use': 'norm.none:NoNorm'}},
    }
    spec = {'use': 'model.stack:Stack', 'block': block, 'layers': L, 'run': {'use': 'model.stack:Unrolled'}}
    layers = [
        {'mixer': {'output': kernel.numpy()}, 'mixer_connection': of_connection(connection)}
        for connection, kernel in zip(connections, kernels, strict=True)
    ]
    params = {'pattern_0': jax.tree.map(lambda *leaves: jnp.stack(leaves), *layers)}
    context = LayerContext(jnp.tile(jnp.arange(T), (B, 1)))
    run = jax.jit(lambda x: build(spec)().apply({'params': params}, x, context, False))
    y, pull = jax.vjp(run, jnp.asarray(x.detach().numpy()))
    for given, wanted in ((y, expected.detach()), (pull(jnp.asarray(dy.numpy()))[0], x.grad)):
        np.testing.assert_allclose(given, wanted, rtol=0, atol=F32_RELATIVE * wanted.abs().max().item())
