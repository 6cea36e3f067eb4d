# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A decoder of Mamba-2 layers against that of `transformers`, on copied random weights."""

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
