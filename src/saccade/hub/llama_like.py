# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of decoders like Llama: pre-norm with RMSNorm, rotary positions, a gated feed-forward layer.

Touvron et al. 2023, "LLaMA", https://arxiv.org/abs/2302.13971; names and settings are as in transformers, version 4 or
5. Linear kernels are stored [out, in].
"""

from collections.abc import Mapping
from typing import Any

from saccade.hub.causal import family as decoders
from saccade.hub.causal import template as decoder
from saccade.hub.encoder import FEEDFORWARD, MIXER, layers, projections
from saccade.hub.family import Family, Weight
from saccade.hub.heads import of_decoder
from saccade.hub.keys import Keys
from saccade.hub.rope import Rope
from saccade.hub.template import Activation, Free, HeadWidth, InnerWidth, Kernel, Setting

WEIGHTS = (
    Weight('embed_tokens.weight', 'V D -> V D', ('embedding',)),
    Weight('layers.*.input_layernorm.weight', 'D -> D', (f'{MIXER}_norm/scale',)),
    Weight('layers.*.post_attention_layernorm.weight', 'D -> D', (f'{FEEDFORWARD}_norm/scale',)),
    *layers(
        'layers.*',
        projections('query', 'key', 'value', 'output')
        | {f'feedforward/{name}': f'mlp.{name}_proj' for name in ('gate', 'up', 'down')},
    ),
    Weight('norm.weight', 'D -> D', ('norm/scale',)),
    Weight('lm_head.weight', 'V D -> D V', ('head',)),
)
# Of successors.
QUERY_KEY_NORMS = tuple(
    Weight(f'layers.*.self_attn.{name[0]}_norm.weight', 'H -> H', (f'{MIXER}/{name}_norm/scale',))
    for name in ('query', 'key')
)


NORM = {'use': 'norm.rms:RMSNorm', 'epsilon': Setting('rms_norm_eps', float, 1e-6)}
_NO_KEY = Free(0.0)
EQUAL_HEADS = {'head_width': HeadWidth('hidden_size', 'num_attention_heads')}
NO_BIAS = {'bias': False, 'output_bias': False}
BIAS = Setting('attention_bias', bool, False)
GROUPS = Setting('num_key_value_heads', int, None, absent=lambda settings: settings['num_attention_heads'])
HEAD_WIDTH = Setting(
    'head_dim', int, None, absent=lambda settings: settings['hidden_size'] // settings['num_attention_heads']
)


def template(
    mixer: Mapping[str, Any],
    feedforward: Mapping[str, Any],
    norm: Mapping[str, Any] = NORM,
    dropout: Any = _NO_KEY,
) -> dict[str, Any]:
    """Template of a decoder like Llama.

    Args: mixer, feedforward, fields of these parts that differ; norm; dropout, of the outputs of both parts.
    """
    block = {
        'use': 'block.pre_norm:PreNorm',
        'norm': norm,
        'mixer': {
            'use': 'attention.multi_head:MultiHead',
            'heads': Setting('num_attention_heads', int),
            'key_value_heads': GROUPS,
            'head_width': HEAD_WIDTH,
            'dropout': dropout,
            'mask': {'use': 'ops.mask:Causal'},
            'position': Rope().template(),
            'kernel': Kernel('attention_dropout', 0.0),
            **mixer,
        },
        'feedforward': {
            'use': 'feedforward.gated:Gated',
            'activation': Activation('hidden_act', 'silu'),
            'width': InnerWidth('intermediate_size', 'hidden_size'),
            'dropout': dropout,
            **feedforward,
        },
    }
    return decoder(norm, block, dropout=Free(0.0))


def family(architecture: str, template: Mapping[str, Any], keys: Keys, **more: Any) -> Family:
    """Return a family whose tensors and heads have the names of Llama's. Args: more, fields of `Family` that differ."""
    fields = {
        'weights': WEIGHTS,
        'prefix': 'model.',
        'ignored': r'(layers\.\d+\.self_attn\.)?rotary_emb\.inv_freq',  # worked out from rope_theta
        'heads': of_decoder(architecture.removesuffix('ForCausalLM')),
        'outside': r'(lm_head|score|qa_outputs)\..*',
    }
    return decoders(template, **{'architecture': architecture, 'keys': keys, **fields, **more})
