# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Mixers against the attention modules of `transformers`, on copied weights and random settings."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from einops import rearrange

from saccade.build import build
from saccade.types import LayerContext

pytestmark = pytest.mark.oracle
torch = pytest.importorskip('torch')
pytest.importorskip('transformers')

ABSOLUTE = 1e-4
B, T = 2, 11
CONTEXT = LayerContext(jnp.tile(jnp.arange(T), (B, 1)))
CAUSAL = torch.full((1, 1, T, T), float('-inf')).triu(1)


def assert_same(spec, weights, x, expected):
    """Compare outputs, and gradients by the input.

    Args:
        x: the input, a leaf of theirs.
        expected: their output.
    """
    module, given = build(spec)(), jnp.asarray(x.detach().numpy())
    shapes = jax.eval_shape(lambda: module.init(jax.random.key(0), given, CONTEXT, False))['params']

    def weight(path, leaf):
        return jnp.asarray(weights['/'.join(key.key for key in path)]).reshape(leaf.shape)

    params = jax.tree_util.tree_map_with_path(weight, shapes)
    dy = torch.randn(expected.shape)
    expected.backward(dy)
    y, pull = jax.vjp(lambda x: module.apply({'params': params}, x, CONTEXT, False), given)
    np.testing.assert_allclose(y, expected.detach(), atol=ABSOLUTE)
    np.testing.assert_allclose(pull(jnp.asarray(dy.numpy()))[0], x.grad, atol=ABSOLUTE)


def kernel(linear):
    """A torch weight [out in] as [in out]."""
    return linear.weight.detach().numpy().T


def paired(array, G, H):
    """Their heads, which keep those of the first attentions together, as ours, which keep the two heads of a pair."""
    return rearrange(array, '... (A P G H) -> ... P A G H', A=2, G=G, H=H)


@pytest.mark.oracle_of('attention.differential:Differential', by='transformers, DiffLlama')
@pytest.mark.parametrize('seed', range(3))
def test_differential_attention_is_that_of_diffllama(seed):
    from transformers.models.diffllama import modeling_diffllama as theirs

    random = np.random.default_rng(seed)
    K, G, H = 2 * int(random.integers(1, 3)), int(random.integers(1, 3)), 2 * int(random.integers(2, 5))
    N, D, layer, bias = K * G, 24, int(random.integers(0, 6)), seed > 0
    config = theirs.DiffLlamaConfig(
        hidden_size=D,
        num_attention_heads=N,
        num_key_value_heads=K,
        head_dim=H,
        attention_bias=bias,
        attn_implementation='eager',
        lambda_std_dev=0.4,
    )
    torch.manual_seed(seed)
    module = theirs.DiffLlamaAttention(config, layer)
    x = torch.tensor(random.normal(size=(B, T, D)), dtype=torch.float32, requires_grad=True)
    rotary = theirs.DiffLlamaRotaryEmbedding(config)
    places = rotary(x, torch.arange(T)[None])
    expected, _ = module(x, position_embeddings=places, attention_mask=CAUSAL)
    weights = {'output': kernel(module.o_proj)}
    for name, linear, group in (('query', module.q_proj, G), ('key', module.k_proj, 1), ('value', module.v_proj, 1)):
        weights[name] = paired(kernel(linear), group, H)
        if bias:
            weights[f'{name}_bias'] = paired(linear.bias.detach().numpy(), group, H)
    if bias:
        weights['output_bias'] = module.o_proj.bias.detach().numpy()
    for number in (1, 2):
        for side in ('query', 'key'):
            name = f'lambda_{side[0]}{number}'
            weights[f'lambda_{side}_{number}'] = getattr(module, name).detach().numpy()
    spec = {
        'use': 'attention.differential:Differential',
        'heads': N,
        'key_value_heads': K,
        'head_width': H,
        'bias': bias,
        'output_bias': bias,
        'start': module.lambda_init,
        'output_norm': {'use': 'norm.rms:RMSNorm', 'epsilon': config.rms_norm_eps, 'scale': False},
        'kernel': {'use': 'attention.plain:Plain'},
        'mask': {'use': 'ops.mask:Causal'},
        'position': {'use': 'position.rotary:Rotary', 'base': config.rope_parameters['rope_theta']},
    }
    assert_same(spec, weights, x, expected)


@pytest.mark.oracle_of('attention.latent:Latent', by='transformers, DeepSeek-V3')
@pytest.mark.parametrize('seed', range(3))
def test_latent_attention_is_that_of_deepseek(seed):
    from transformers.models.deepseek_v3 import modeling_deepseek_v3 as theirs

    random = np.random.default_rng(seed)
    N, R, H, V, D = (int(random.integers(low, high)) for low, high in ((1, 5), (4, 9), (3, 7), (3, 7), (12, 25)))
    turned, query_rank = 2 * int(random.integers(1, 4)), None if seed == 0 else int(random.integers(4, 9))
    interleaved = seed > 1  # as the released weights are
    config = theirs.DeepseekV3Config(
        hidden_size=D,
        num_attention_heads=N,
        num_key_value_heads=N,
        q_lora_rank=query_rank,
        kv_lora_rank=R,
        qk_rope_head_dim=turned,
        qk_nope_head_dim=H,
        v_head_dim=V,
        rope_interleave=interleaved,
        attn_implementation='eager',
    )
    torch.manual_seed(seed)
    module = theirs.DeepseekV3Attention(config, 0)
    x = torch.tensor(random.normal(size=(B, T, D)), dtype=torch.float32, requires_grad=True)
    places = theirs.DeepseekV3RotaryEmbedding(config)(x, torch.arange(T)[None])
    expected, _ = module(x, position_embeddings=places, attention_mask=CAUSAL)
    down, up = kernel(module.kv_a_proj_with_mqa), kernel(module.kv_b_proj).reshape(R, N, H + V)
    weights = {
        'latent': down[:, :R],
        'rotated_key': down[:, R:],
        'latent_norm/scale': module.kv_a_layernorm.weight.detach().numpy(),
        'key': up[..., :H],
        'value': up[..., H:],
        'query': kernel(module.q_proj if query_rank is None else module.q_b_proj),
        'output': kernel(module.o_proj),
    }
    if query_rank is not None:
        weights |= {
            'query_latent': kernel(module.q_a_proj),
            'query_norm/scale': module.q_a_layernorm.weight.detach().numpy(),
        }
    spec = {
        'use': 'attention.latent:Latent',
        'heads': N,
        'rank': R,
        'head_width': H,
        'value_width': V,
        'rotated_width': turned,
        'query_rank': query_rank,
        'kernel': {'use': 'attention.plain:Plain'},
        'mask': {'use': 'ops.mask:Causal'},
        'position': {
            'use': 'position.rotary:Rotary',
            'base': config.rope_parameters['rope_theta'],
            'pairing': {'use': 'ops.rotary:neighbours' if interleaved else 'ops.rotary:halves'},
        },
        'norm': {'use': 'norm.rms:RMSNorm'},
    }
    assert_same(spec, weights, x, expected)


@pytest.mark.oracle_of('attention.segment_memory:SegmentMemory', by='transformers, XLNet')
@pytest.mark.oracle_of('position.transformer_xl:TransformerXL', by='transformers, XLNet')
@pytest.mark.parametrize('memory', [3, 4])
def test_segment_recurrence_is_that_of_xlnet(memory):
    """Segment after segment, with a memory of earlier tokens, as in Transformer-XL; outputs and gradients by x."""
    from transformers.models.xlnet import modeling_xlnet as theirs

    N, H, D, length = 2, 4, 8, 4
    settings = {'d_model': D, 'n_head': N, 'd_head': H, 'd_inner': 8, 'n_layer': 1, 'vocab_size': 8}
    model = theirs.XLNetModel(theirs.XLNetConfig(**settings, attn_type='uni', clamp_len=-1)).eval()
    module = model.layer[0].rel_attn
    module.layer_norm = torch.nn.Identity()
    torch.manual_seed(0)
    with torch.no_grad():
        for leaf in module.parameters():
            leaf.normal_(std=0.5)
    x, mixed = torch.randn(B, T, D, requires_grad=True), []
    for start in range(0, T, length):
        segment = x[:, start : start + length].transpose(0, 1)
        held = x[:, max(start - memory, 0) : start].transpose(0, 1).detach()
        queries, keys = len(segment), len(held) + len(segment)
        waves = model.relative_positional_encoding(queries, keys, bsz=B)
        later = torch.ones(queries, keys).triu(1 + len(held))[..., None, None]
        y = module(segment, None, later, None, waves, None, mems=held if len(held) else None)[0]
        mixed.append((y - segment).transpose(0, 1))
    expected = torch.cat(mixed, dim=1)

    p = {name: leaf.detach().numpy() for name, leaf in module.named_parameters()}
    position = {'content_bias': p['r_w_bias'], 'position_bias': p['r_r_bias'], 'projection': p['r'].reshape(D, N * H)}
    params = {'query': p['q'], 'key': p['k'], 'value': p['v'], 'output': np.moveaxis(p['o'], 0, -1)}
    spec = {
        'use': 'attention.segment_memory:SegmentMemory',
        'heads': N,
        'length': length,
        'memory': memory,
        'kernel': {'use': 'attention.plain:Plain'},
        'mask': {'use': 'ops.mask:Causal'},
        'position': {'use': 'position.transformer_xl:TransformerXL', 'width': D, 'head_width': H},
    }
    assert_same(spec, params | {f'position/{name}': leaf for name, leaf in position.items()}, x, expected)
