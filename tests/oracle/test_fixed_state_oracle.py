# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The gated delta rule and retention against the layers of `transformers`, on copied random weights."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.ops.linear_attention import Memory, retain
from saccade.types import LayerContext

pytestmark = pytest.mark.oracle
F32_RELATIVE = 1e-4  # of the largest element
B, T, D, N, V = 2, 21, 12, 3, 8


def assert_near(given, expected):
    given, expected = np.asarray(given), np.asarray(expected)
    np.testing.assert_allclose(given, expected, rtol=0, atol=F32_RELATIVE * np.abs(expected).max())


def randomised(torch, module, seed):
    torch.manual_seed(seed)
    for leaf in module.parameters():
        torch.nn.init.normal_(leaf, std=0.4)
    return {name: np.asarray(leaf.detach()) for name, leaf in module.named_parameters()}


def heads_of(weight, width):
    """A torch linear layer's [N width, D] as [D, N, width]."""
    return jnp.asarray(weight.T.reshape(D, N, width))


@pytest.mark.parametrize('seed', [0, 1])
def test_the_gated_delta_rule_is_that_of_olmo_hybrid(seed):
    torch = pytest.importorskip('torch')
    from transformers.models.olmo_hybrid.modeling_olmo_hybrid import OlmoHybridConfig, OlmoHybridGatedDeltaNet

    sizes = {'hidden_size': D, 'linear_num_value_heads': N, 'linear_num_key_heads': N, 'linear_conv_kernel_dim': 1}
    widths = {'linear_key_head_dim': D // N, 'linear_value_head_dim': V, 'linear_allow_neg_eigval': False}
    kinds = {'num_hidden_layers': 2, 'layer_types': ['linear_attention', 'full_attention']}
    theirs = OlmoHybridGatedDeltaNet(OlmoHybridConfig(**sizes, **widths, **kinds), 0)
    p = randomised(torch, theirs, seed)
    torch.nn.init.ones_(theirs.conv1d.weight)  # a convolution over one token that changes nothing
    params = {
        **{ours: heads_of(p[f'{name}_proj.weight'], width) for ours, name, width in PROJECTIONS},
        **{ours: jnp.asarray(p[f'{name}_proj.weight'].T) for ours, name in (('write', 'b'), ('step', 'a'))},
        'log_rate': jnp.asarray(p['A_log']),
        'step_bias': jnp.asarray(p['dt_bias']),
        'head_norm': {'scale': jnp.asarray(p['o_norm.weight'])},
        'output': jnp.asarray(p['o_proj.weight'].T.reshape(N, V, D)),
    }
    # They scale queries by 1 / sqrt(H), which the norm takes back, but for its epsilon.
    norm = {'use': 'norm.rms:RMSNorm', 'epsilon': 1e-5 * (D // N)}
    spec = {'use': 'attention.delta:Delta', 'heads': N, 'value_width': V, 'gate': {'use': 'jax.nn:silu'}, 'chunk': 8}
    ours = build({**spec, 'head_norm': norm})()
    x = np.random.default_rng(seed).normal(size=(B, T, D)).astype(np.float32)
    context = LayerContext(jnp.tile(jnp.arange(T), (B, 1)))
    given = jax.jit(lambda params: ours.apply({'params': params}, jnp.asarray(x), context, False))(params)
    with torch.no_grad():
        assert_near(given, theirs(torch.from_numpy(x)))


PROJECTIONS = (('query', 'q', D // N), ('key', 'k', D // N), ('value', 'v', V), ('gate', 'g', V))


def test_a_fading_memory_is_the_lightning_attention_of_minimax():
    torch = pytest.importorskip('torch')
    from transformers.models.minimax.modeling_minimax import MiniMaxConfig, MiniMaxLightningAttention

    sizes = {'hidden_size': D, 'num_attention_heads': N, 'num_key_value_heads': N, 'head_dim': D // N, 'block_size': 8}
    kinds = {'num_hidden_layers': 2, 'layer_types': ['linear_attention'] * 2, 'hidden_act': 'silu'}
    theirs = MiniMaxLightningAttention(MiniMaxConfig(**sizes, **kinds), 1)
    p = randomised(torch, theirs, 0)
    # What comes after the heads are read is undone: no norm, a gate of one half, twice the identity.
    theirs.norm = torch.nn.Identity()
    torch.nn.init.zeros_(theirs.output_gate.weight)
    theirs.out_proj.weight.data = 2 * torch.eye(D)
    x = np.random.default_rng(0).normal(size=(B, T, D)).astype(np.float32)
    mixed = jax.nn.silu(x @ p['qkv_proj.weight'].T).reshape(B, T, N, 3, D // N)
    log_decay = jnp.broadcast_to(-np.asarray(theirs.slope_rate).reshape(N), (B, T, N))
    state = Memory.empty(B, N, D // N, D // N)
    heads = (mixed[:, :, :, part] for part in range(3))
    given, _ = retain(*heads, log_decay, jnp.ones((B, T), int), state, 8)
    with torch.no_grad():
        expected, _ = theirs(torch.from_numpy(x), None, None)
    assert_near(given.reshape(B, T, D), expected)
