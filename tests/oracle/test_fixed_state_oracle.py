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


@pytest.mark.oracle_of('attention.delta:Delta', by='transformers, OLMo Hybrid')
@pytest.mark.parametrize('negative_eigenvalues', [False, True])
def test_the_gated_delta_rule_is_that_of_olmo_hybrid(negative_eigenvalues):
    torch = pytest.importorskip('torch')
    from transformers.models.olmo_hybrid.modeling_olmo_hybrid import OlmoHybridConfig, OlmoHybridGatedDeltaNet

    sizes = {'hidden_size': D, 'linear_num_value_heads': N, 'linear_num_key_heads': N, 'linear_conv_kernel_dim': 4}
    widths = {'linear_key_head_dim': D // N, 'linear_value_head_dim': V}
    sizes['linear_allow_neg_eigval'] = negative_eigenvalues
    kinds = {'num_hidden_layers': 2, 'layer_types': ['linear_attention', 'full_attention']}
    theirs = OlmoHybridGatedDeltaNet(OlmoHybridConfig(**sizes, **widths, **kinds), 0)
    p = randomised(torch, theirs, 0)
    params = {
        **{ours: heads_of(p[f'{name}_proj.weight'], width) for ours, name, width in PROJECTIONS},
        **{ours: jnp.asarray(p[f'{name}_proj.weight'].T) for ours, name in (('write', 'b'), ('step', 'a'))},
        'convolution': {'output': jnp.asarray(p['conv1d.weight'][:, 0].T)},
        'log_rate': jnp.asarray(p['A_log']),
        'step_bias': jnp.asarray(p['dt_bias']),
        'head_norm': {'scale': jnp.asarray(p['o_norm.weight'])},
        'output': jnp.asarray(p['o_proj.weight'].T.reshape(N, V, D)),
    }
    # They scale queries by 1 / sqrt(H), which the norm takes back, but for its epsilon.
    norm = {'use': 'norm.rms:RMSNorm', 'epsilon': 1e-5 * (D // N)}
    spec = {'use': 'attention.delta:Delta', 'heads': N, 'value_width': V, 'gate': {'use': 'jax.nn:silu'}, 'chunk': 8}
    settings = {'negative_eigenvalues': negative_eigenvalues, 'convolution': CONVOLUTION}
    assert_same({**spec, **settings, 'head_norm': norm}, params, theirs)


CONVOLUTION = {'use': 'recurrent.mixer.convolution:Convolution', 'size': 4, 'depthwise': True, 'bias': False}
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


@pytest.mark.oracle_of('attention.delta:Delta', by='transformers, Qwen3-Next')
def test_the_gated_delta_rule_is_that_of_qwen3_next():
    torch = pytest.importorskip('torch')
    from transformers.models.qwen3_next.modeling_qwen3_next import Qwen3NextConfig, Qwen3NextGatedDeltaNet

    K, H, G = 2, 5, 2  # heads of keys, their width, heads of values for each
    sizes = {'hidden_size': D, 'linear_num_value_heads': K * G, 'linear_num_key_heads': K, 'num_hidden_layers': 2}
    widths = {'linear_key_head_dim': H, 'linear_value_head_dim': V, 'linear_conv_kernel_dim': 4}
    theirs = Qwen3NextGatedDeltaNet(Qwen3NextConfig(**sizes, **widths), 0)
    p = randomised(torch, theirs, 0)
    ends = np.cumsum([H, H, G * V])
    together = p['in_proj_qkvz.weight'].T.reshape(D, K, 2 * H + 2 * G * V)
    query, key, value, gate = np.split(together, ends, axis=-1)
    write, step = np.split(p['in_proj_ba.weight'].T.reshape(D, K, 2 * G), 2, axis=-1)
    params = {
        **{'query': query, 'key': key, 'value': value.reshape(D, K * G, V), 'gate': gate.reshape(D, K * G, V)},
        **{'write': write.reshape(D, K * G), 'step': step.reshape(D, K * G)},
        'convolution': {'output': p['conv1d.weight'][:, 0].T},
        'log_rate': p['A_log'],
        'step_bias': p['dt_bias'],
        'head_norm': {'scale': p['norm.weight']},
        'output': p['out_proj.weight'].T.reshape(K * G, V, D),
    }
    spec = {'use': 'attention.delta:Delta', 'heads': K * G, 'key_heads': K, 'head_width': H, 'value_width': V}
    assert_same(spec | PUBLISHED | {'head_norm': norm_of_scaled_queries(H, 1e-6)}, params, theirs)


@pytest.mark.oracle_of('attention.kimi_delta:KimiDelta', by='transformers, Kimi Linear')
def test_kimi_delta_attention_is_that_of_kimi_linear():
    torch = pytest.importorskip('torch')
    from transformers.models.kimi_linear.modeling_kimi_linear import KimiLinearConfig, KimiLinearDeltaAttention

    H = D // N
    kinds = {'num_hidden_layers': 2, 'layer_types': ['linear_attention', 'full_attention']}
    theirs = KimiLinearDeltaAttention(
        KimiLinearConfig(hidden_size=D, linear_num_heads=N, linear_head_dim=H, linear_conv_kernel_dim=4, **kinds), 0
    )
    p = randomised(torch, theirs, 0)
    params = {
        **{ours: heads_of(p[f'{name}_proj.weight'], H) for ours, name, _ in PROJECTIONS[:3]},
        'convolution': {'output': p['conv1d.weight'][:, 0].T},
        'write': p['b_proj.weight'].T,
        'step_down': p['forget_gate.f_a_proj.weight'].T,
        'step_up': p['forget_gate.f_b_proj.weight'].T.reshape(H, N, H),
        'step_bias': p['forget_gate.dt_bias'].reshape(N, H),
        'log_rate': p['forget_gate.A_log'].reshape(N),
        'gate_down': p['g_a_proj.weight'].T,
        'gate_up': p['g_b_proj.weight'].T.reshape(H, N, H),
        'head_norm': {'scale': p['o_norm.weight']},
        'output': p['o_proj.weight'].T.reshape(N, H, D),
    }
    spec = PUBLISHED | {'use': 'attention.kimi_delta:KimiDelta', 'heads': N, 'decay_rank': H, 'gate_rank': H}
    norm = norm_of_scaled_queries(H, theirs.layer_norm_epsilon)
    assert_same(spec | {'gate': {'use': 'jax.nn:sigmoid'}, 'head_norm': norm}, params, theirs)


@pytest.mark.oracle_of('attention.kimi_delta:KimiDelta', by='transformers, Bailing Hybrid')
def test_kimi_delta_attention_with_a_bounded_decay_and_full_matrices_is_that_of_bailing_hybrid():
    torch = pytest.importorskip('torch')
    from transformers.models.bailing_hybrid import modeling_bailing_hybrid as bailing

    H = D // N
    sizes = {'hidden_size': D, 'linear_num_heads': N, 'linear_head_dim': H, 'linear_conv_kernel_dim': 4}
    config = bailing.BailingHybridConfig(**sizes, kda_safe_gate=True, kda_lower_bound=-5.0)
    theirs = bailing.BailingHybridDeltaAttention(config, 0)
    p = randomised(torch, theirs, 0)
    params = {
        **{ours: heads_of(p[f'{name}_proj.weight'], H) for ours, name, _ in PROJECTIONS[:3]},
        'convolution': {'output': p['conv1d.weight'][:, 0].T},
        'write': p['b_proj.weight'].T,
        'step': heads_of(p['forget_gate.f_proj.weight'], H),
        'step_bias': p['forget_gate.dt_bias'].reshape(N, H),
        'log_rate': p['forget_gate.A_log'],
        'gate': heads_of(p['g_proj.weight'], H),
        'head_norm': {'scale': p['o_norm.weight']},
        'output': p['o_proj.weight'].T.reshape(N, H, D),
    }
    spec = PUBLISHED | {'use': 'attention.kimi_delta:KimiDelta', 'heads': N, 'decay_bound': 5.0}
    norm = norm_of_scaled_queries(H, config.rms_norm_eps)
    assert_same(spec | {'gate': {'use': 'jax.nn:sigmoid'}, 'head_norm': norm}, params, theirs)


@pytest.mark.oracle_of('attention.mlstm:MLSTM', by='transformers, xLSTM')
def test_mlstm_is_that_of_xlstm_7b():
    torch = pytest.importorskip('torch')
    from transformers.models.xlstm.modeling_xlstm import xLSTMConfig, xLSTMLayer

    H = D // (2 * N)
    sizes = {'hidden_size': D, 'num_heads': N, 'num_hidden_layers': 1, 'qk_dim_factor': 0.5, 'v_dim_factor': 1.0}
    theirs = xLSTMLayer(
        xLSTMConfig(**sizes, chunk_size=8, weight_mode='single', gate_soft_cap=15.0, return_last_states=True)
    )
    p = randomised(torch, theirs, 0)
    params = {
        **{ours: heads_of(p[f'{name}.weight'], H) for ours, name in (('query', 'q'), ('key', 'k'))},
        **{ours: heads_of(p[f'{name}.weight'], 2 * H) for ours, name in (('value', 'v'), ('gate', 'ogate_preact'))},
        **{f'{name}_gate': p[f'{name[0]}gate_preact.weight'].T for name in ('input', 'forget')},
        **{f'{name}_gate_bias': p[f'{name[0]}gate_preact.bias'] for name in ('input', 'forget')},
        'head_norm': {'scale': p['multihead_norm.weight'].reshape(N, 2 * H)[0]},
        'output': p['out_proj.weight'].T.reshape(N, 2 * H, D),
    }
    # They scale each head's features by weights of its own; ours has the same for all heads.
    theirs.multihead_norm.weight.data = torch.from_numpy(np.tile(params['head_norm']['scale'], N))
    spec = {'use': 'attention.mlstm:MLSTM', 'heads': N, 'head_width': H, 'value_width': 2 * H, 'chunk': 8}
    norm = {'use': 'norm.layer:LayerNorm', 'epsilon': theirs.config.norm_eps, 'bias': False}
    assert_same(spec | {'gate_cap': 15.0, 'head_norm': norm}, params, theirs)


PUBLISHED = {'gate': {'use': 'jax.nn:silu'}, 'convolution': CONVOLUTION, 'chunk': 8}
INPUT = np.random.default_rng(0).normal(size=(B, T, D)).astype(np.float32)


def norm_of_scaled_queries(width, epsilon):
    """They scale queries by 1 / sqrt(H), which the norm takes back, but for its epsilon."""
    return {'use': 'norm.rms:RMSNorm', 'epsilon': epsilon * width}


def assert_same(spec, params, theirs):
    """Compare outputs, and gradients by the input."""
    import torch

    dy = np.random.default_rng(1).normal(size=(B, T, D)).astype(np.float32)
    leaf = torch.tensor(INPUT, requires_grad=True)
    expected = theirs(leaf)
    expected = expected[0] if isinstance(expected, tuple) else expected
    expected.backward(torch.from_numpy(dy))
    module, context = build(spec)(), LayerContext(jnp.tile(jnp.arange(T), (B, 1)))
    params = jax.tree.map(jnp.asarray, params)
    run = jax.jit(lambda x: module.apply({'params': params}, x, context, False))
    y, pull = jax.vjp(run, jnp.asarray(INPUT))
    assert_near(y, expected.detach())
    assert_near(pull(jnp.asarray(dy))[0], leaf.grad)
