# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Blocks against those of `transformers`, on copied weights: outputs and gradients."""

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
    dinov2 = pytest.importorskip('transformers.models.dinov2.modeling_dinov2', reason='transformers is missing')

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
    assert_same(spec, {'pattern_0': jax.tree.map(lambda *leaves: np.stack(leaves), *layers)}, x, expected, dy)


@pytest.mark.oracle_of('block.layer_scale:LayerScale', by='transformers, DINOv2')
def test_layer_scale_is_that_of_dinov2():
    N = 2
    sizes = {'hidden_size': D, 'num_attention_heads': N, 'mlp_ratio': 3}
    theirs = dinov2.Dinov2Layer(dinov2.Dinov2Config(**sizes, attn_implementation='eager')).eval()
    torch.manual_seed(0)
    with torch.no_grad():
        for leaf in theirs.parameters():
            leaf.normal_(std=0.7)
    x, dy = torch.randn(B, T, D, requires_grad=True), torch.randn(B, T, D)
    expected = theirs(x)
    expected.backward(dy)

    p = {name: leaf.detach().numpy() for name, leaf in theirs.named_parameters()}
    names = {name: f'attention.{name[0]}_proj' for name in ('query', 'key', 'value')}
    params = {
        **{ours: {'scale': p[f'norm{n}.weight'], 'bias': p[f'norm{n}.bias']} for ours, n in BRANCHES.items()},
        **{f'{ours[:-5]}_scale': p[f'layer_scale{n}.lambda1'] for ours, n in BRANCHES.items()},
        'mixer': {
            **{ours: p[f'{name}.weight'].T.reshape(D, N, -1) for ours, name in names.items()},
            **{f'{ours}_bias': p[f'{name}.bias'].reshape(N, -1) for ours, name in names.items()},
            'output': p['attention.o_proj.weight'].T.reshape(N, -1, D),
            'output_bias': p['attention.o_proj.bias'],
        },
        'feedforward': {
            **{ours: p[f'mlp.{name}.weight'].T for ours, name in (('up', 'fc1'), ('down', 'fc2'))},
            **{f'{ours}_bias': p[f'mlp.{name}.bias'] for ours, name in (('up', 'fc1'), ('down', 'fc2'))},
        },
    }
    mixer = {'use': 'attention.multi_head:MultiHead', 'heads': N, 'bias': True, 'output_bias': True}
    spec = {
        'use': 'block.layer_scale:LayerScale',
        'start': 1.0,
        'norm': {'use': 'norm.layer:LayerNorm', 'epsilon': 1e-6},
        'mixer': mixer | {'mask': {'use': 'ops.mask:Full'}, 'position': {'use': 'position.none:NoPosition'}},
        'feedforward': {'use': 'feedforward.mlp:MLP', 'activation': {'use': 'ops.activation:gelu'}, 'ratio': 3.0},
    }
    assert_same(spec, params, x, expected, dy)


BRANCHES = {'mixer_norm': 1, 'feedforward_norm': 2}


def assert_same(spec, params, x, expected, dy):
    """Compare outputs, and gradients by the input, of which theirs are in x."""
    context, params = LayerContext(jnp.tile(jnp.arange(T), (B, 1))), jax.tree.map(jnp.asarray, params)
    run = jax.jit(lambda x: build(spec)().apply({'params': params}, x, context, False))
    y, pull = jax.vjp(run, jnp.asarray(x.detach().numpy()))
    for given, wanted in ((y, expected.detach()), (pull(jnp.asarray(dy.numpy()))[0], x.grad)):
        np.testing.assert_allclose(given, wanted, rtol=0, atol=F32_RELATIVE * wanted.abs().max().item())
