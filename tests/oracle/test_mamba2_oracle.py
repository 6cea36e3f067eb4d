# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A decoder of Mamba-2 layers, and a layer with attention next to it, against `transformers`, on copied weights."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.types import LayerContext

pytestmark = pytest.mark.oracle
F32_RELATIVE = 1e-4  # of the largest logit
B, T, D, N, H, V, L, WORDS = 2, 21, 12, 4, 5, 6, 2, 17
RMS = {'use': 'norm.rms:RMSNorm', 'epsilon': 1e-5}
MIXER = {
    'use': 'attention.mamba2:Mamba2',
    'heads': N,
    'head_width': H,
    'value_width': V,
    'convolution': {'use': 'recurrent.mixer.convolution:Convolution', 'size': 4, 'depthwise': True},
    'output_norm': RMS,
    'chunk': 8,
}
MODEL = {
    'use': 'model.decoder:Decoder',
    'vocabulary': WORDS,
    'context_length': T,
    'width': D,
    'layers': L,
    'tied': False,
    'position': {'use': 'position.none:NoPosition'},
    'norm': RMS,
    'run': {'use': 'model.stack:Unrolled'},
    'shared': None,
    'block': {'use': 'block.pre_norm:PreNorm', 'mixer': MIXER, 'feedforward': None, 'norm': RMS},
}


def model(groups):
    """Ours, of so many groups."""
    norm = RMS if groups == 1 else RMS | {'use': 'norm.group_rms:GroupRMSNorm', 'groups': groups}
    mixer = MIXER | {'key_heads': groups, 'output_norm': norm}
    return build(MODEL | {'block': MODEL['block'] | {'mixer': mixer}})()


def layer(p, at, groups):
    """Their parameters of a layer as ours."""
    inner, state = N * V, groups * H
    ends = np.cumsum([inner, inner, state, state])
    gate, value, key, query, step = np.split(p[f'{at}.mixer.in_proj.weight'], ends)

    def queries_first(x):
        value, key, query = np.split(x, [inner, inner + state])
        return jnp.asarray(np.concatenate([query, key, value]).T)

    def to_heads(weight, heads):
        return jnp.asarray(weight.T.reshape(D, heads, -1))

    return {
        'mixer_norm': {'scale': jnp.asarray(p[f'{at}.norm.weight'])},
        'mixer': {
            **{'query': to_heads(query, groups), 'key': to_heads(key, groups), 'value': to_heads(value, N)},
            **{'gate': to_heads(gate, N), 'step': jnp.asarray(step.T)},
            'convolution': {
                'output': queries_first(p[f'{at}.mixer.conv1d.weight'][:, 0]),
                'bias': queries_first(p[f'{at}.mixer.conv1d.bias']),
            },
            **{
                ours: jnp.asarray(p[f'{at}.mixer.{theirs}'])
                for ours, theirs in (('log_rate', 'A_log'), ('step_bias', 'dt_bias'), ('skip', 'D'))
            },
            'output_norm': {'scale': jnp.asarray(p[f'{at}.mixer.norm.weight'])},
            'output': jnp.asarray(p[f'{at}.mixer.out_proj.weight'].T.reshape(N, V, D)),
        },
    }


@pytest.mark.oracle_of('attention.mamba2:Mamba2', 'norm.group_rms:GroupRMSNorm', by='transformers, Mamba-2')
@pytest.mark.parametrize('groups', [1, 2])
def test_logits_are_those_of_transformers(groups):
    torch = pytest.importorskip('torch')
    from transformers import Mamba2Config, Mamba2ForCausalLM

    sizes = {'hidden_size': D, 'num_heads': N, 'head_dim': V, 'state_size': H, 'num_hidden_layers': L}
    theirs = Mamba2ForCausalLM(Mamba2Config(**sizes, n_groups=groups, vocab_size=WORDS, chunk_size=8)).eval()
    torch.manual_seed(0)
    for leaf in theirs.parameters():
        torch.nn.init.normal_(leaf, std=0.4)
    p = {name: np.asarray(leaf.detach()) for name, leaf in theirs.named_parameters()}
    layers = [layer(p, f'backbone.layers.{number}', groups) for number in range(L)]
    params = {
        'embedding': jnp.asarray(p['backbone.embeddings.weight']),
        'layers': {'pattern_0': jax.tree.map(lambda *leaves: jnp.stack(leaves), *layers)},
        'norm': {'scale': jnp.asarray(p['backbone.norm_f.weight'])},
        'head': jnp.asarray(p['lm_head.weight'].T),
    }
    tokens = jnp.array(np.random.default_rng(0).integers(0, WORDS, (B, T)))
    context = LayerContext(jnp.tile(jnp.arange(T), (B, 1)))
    given = jax.jit(lambda params: model(groups).apply({'params': params}, tokens, context, False))(params)
    with torch.no_grad():
        expected = np.asarray(theirs(torch.tensor(tokens.tolist())).logits)
    np.testing.assert_allclose(given, expected, rtol=0, atol=F32_RELATIVE * np.abs(expected).max())


@pytest.mark.oracle_of('attention.side_by_side:SideBySide', 'attention.mamba2:Mamba2', by='transformers, Falcon-H1')
def test_attention_and_mamba2_side_by_side_are_those_of_falcon_h1():
    torch = pytest.importorskip('torch')
    from transformers.models.falcon_h1.modeling_falcon_h1 import FalconH1Config, FalconH1DecoderLayer

    sizes = {'hidden_size': D, 'intermediate_size': 20, 'num_attention_heads': 3, 'num_key_value_heads': 1}
    scan = {'mamba_d_ssm': N * V, 'mamba_n_heads': N, 'mamba_d_head': V, 'mamba_d_state': H, 'mamba_chunk_size': 8}
    scales = {'ssm_out_multiplier': 0.3, 'attention_out_multiplier': -1.5}
    config = FalconH1Config(num_hidden_layers=1, **sizes, **scan, **scales, attn_implementation='eager')
    theirs = FalconH1DecoderLayer(config, 0).eval()
    torch.manual_seed(0)
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    theirs.mamba.mup_vector = 1.0
    p = {name: np.asarray(value.detach()) for name, value in theirs.named_parameters()}
    x, dy = torch.randn(B, T, D, requires_grad=True), torch.randn(B, T, D)
    unturned = torch.ones(1, T, D // 3), torch.zeros(1, T, D // 3)
    hidden = torch.full((T, T), -torch.inf).triu(1)[None, None]
    expected = theirs(x, position_embeddings=unturned, attention_mask=hidden)[0]
    expected.backward(dy)

    def attention(name, axes):
        return jnp.asarray(p[f'self_attn.{name}_proj.weight'].T.reshape(axes))

    renamed = {f'at.mixer.{name[6:]}': value for name, value in p.items() if name.startswith('mamba.')}
    ones = {'at.norm.weight': np.ones(D), 'at.mixer.norm.weight': np.ones(N * V)}
    scanned = layer(ones | renamed, 'at', 1)['mixer']
    attended = {name: attention(name[0], (D, -1, D // 3)) for name in ('query', 'key', 'value')}
    attended['output'] = attention('o', (3, D // 3, D))
    feedforward = {name: jnp.asarray(p[f'feed_forward.{name}_proj.weight'].T) for name in ('gate', 'up', 'down')}
    params = {
        'mixer_norm': {'scale': jnp.asarray(p['input_layernorm.weight'])},
        'mixer': {'mixers_0': {k: v for k, v in scanned.items() if k != 'output_norm'}, 'mixers_1': attended},
        'feedforward_norm': {'scale': jnp.asarray(p['pre_ff_layernorm.weight'])},
        'feedforward': feedforward,
    }
    multi_head = {'use': 'attention.multi_head:MultiHead', 'heads': 3, 'key_value_heads': 1}
    block = build({
        'use': 'block.pre_norm:PreNorm',
        'mixer': {
            'use': 'attention.side_by_side:SideBySide',
            'mixers': [MIXER | {'output_norm': None}, multi_head | {'mask': {'use': 'ops.mask:Causal'}}],
            'norm': None,
            'scales': [0.3, -1.5],
        },
        'feedforward': {'use': 'feedforward.gated:Gated', 'width': 20, 'activation': {'use': 'jax.nn:silu'}},
        'norm': RMS,
    })()  # fmt: skip
    found, pull = jax.vjp(lambda x: block.apply({'params': params}, x), jnp.asarray(x.detach().numpy()))
    for given, wanted in ((found, expected.detach()), (pull(jnp.asarray(dy.numpy()))[0], x.grad)):
        np.testing.assert_allclose(given, wanted, rtol=0, atol=F32_RELATIVE * wanted.abs().max().item())
