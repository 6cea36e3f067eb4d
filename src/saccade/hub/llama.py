# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Llama: rotary positions, pre-norm with RMSNorm, SwiGLU, grouped-query attention, no biases.

Touvron et al. 2023, https://arxiv.org/abs/2302.13971, and its successors up to 3.3; names and settings of
`LlamaForCausalLM` in transformers, version 4 or 5. Linear kernels are stored [out, in].
"""

from collections.abc import Mapping
from typing import Any

from saccade.hub.family import Family, Weight
from saccade.hub.keys import CAUSAL, Keys
from saccade.hub.setting import Settings, read, read_activation, require, shortened
from saccade.types import UserError

_MIXER = 'layers/pattern_0/mixer'
_FEEDFORWARD = 'layers/pattern_0/feedforward'

WEIGHTS = (
    Weight('embed_tokens.weight', 'V D -> V D', ('embedding',)),
    Weight('layers.*.input_layernorm.weight', 'D -> D', (f'{_MIXER}_norm/scale',)),
    Weight('layers.*.self_attn.q_proj.weight', '(N H) D -> D N H', (f'{_MIXER}/query',)),
    Weight('layers.*.self_attn.q_proj.bias', '(N H) -> N H', (f'{_MIXER}/query_bias',)),
    Weight('layers.*.self_attn.k_proj.weight', '(K H) D -> D K H', (f'{_MIXER}/key',)),
    Weight('layers.*.self_attn.k_proj.bias', '(K H) -> K H', (f'{_MIXER}/key_bias',)),
    Weight('layers.*.self_attn.v_proj.weight', '(K H) D -> D K H', (f'{_MIXER}/value',)),
    Weight('layers.*.self_attn.v_proj.bias', '(K H) -> K H', (f'{_MIXER}/value_bias',)),
    Weight('layers.*.self_attn.o_proj.weight', 'D (N H) -> N H D', (f'{_MIXER}/output',)),
    Weight('layers.*.self_attn.o_proj.bias', 'D -> D', (f'{_MIXER}/output_bias',)),
    Weight('layers.*.post_attention_layernorm.weight', 'D -> D', (f'{_FEEDFORWARD}_norm/scale',)),
    Weight('layers.*.mlp.gate_proj.weight', 'F D -> D F', (f'{_FEEDFORWARD}/gate',)),
    Weight('layers.*.mlp.gate_proj.bias', 'F -> F', (f'{_FEEDFORWARD}/gate_bias',)),
    Weight('layers.*.mlp.up_proj.weight', 'F D -> D F', (f'{_FEEDFORWARD}/up',)),
    Weight('layers.*.mlp.up_proj.bias', 'F -> F', (f'{_FEEDFORWARD}/up_bias',)),
    Weight('layers.*.mlp.down_proj.weight', 'D F -> F D', (f'{_FEEDFORWARD}/down',)),
    Weight('layers.*.mlp.down_proj.bias', 'D -> D', (f'{_FEEDFORWARD}/down_bias',)),
    Weight('norm.weight', 'D -> D', ('norm/scale',)),
    Weight('lm_head.weight', 'V D -> D V', ('head',)),
)


_KEYS = Keys(
    required={**CAUSAL, 'partial_rotary_factor': 1.0},
    harmless=('pretraining_tp',),  # computes a product in slices, with the same result
)


def spec(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the spec of our model, from a `LlamaConfig`.

    Raises:
        UserError: a setting is missing, has the wrong type or an unsupported value.
    """
    norm = {'use': 'norm.rms:RMSNorm', 'epsilon': read(config, 'rms_norm_eps', float, 1e-6)}
    return {
        'use': 'model.decoder:Decoder',
        'vocabulary': read(config, 'vocab_size', int),
        'context_length': read(config, 'max_position_embeddings', int),
        'width': read(config, 'hidden_size', int),
        'layers': read(config, 'num_hidden_layers', int),
        'tied': read(config, 'tie_word_embeddings', bool, False),
        'position': {'use': 'position.none:NoPosition'},
        'norm': norm,
        'run': {'use': 'model.stack:Unrolled'},
        'block': {
            'use': 'block.pre_norm:PreNorm',
            'norm': norm,
            'mixer': _mixer(config),
            'feedforward': {
                'use': 'feedforward.gated:Gated',
                'activation': read_activation(config, 'hidden_act', 'silu'),
                'width': read(config, 'intermediate_size', int),
                'bias': read(config, 'mlp_bias', bool, False),
            },
        },
    }


def _mixer(config: Mapping[str, Any]) -> dict[str, Any]:
    bias = read(config, 'attention_bias', bool, False)
    dropout = read(config, 'attention_dropout', float, 0.0)
    return {
        'use': 'attention.multi_head:MultiHead',
        'heads': read(config, 'num_attention_heads', int),
        'key_value_heads': read(config, 'num_key_value_heads', int, None),
        'head_width': read(config, 'head_dim', int, None),
        'bias': bias,
        'output_bias': bias,
        'mask': {'use': 'ops.mask:Causal'},
        'position': _rotary(config),
        'kernel': {'use': 'attention.plain:Plain', 'dropout': dropout},
    }


def _rotary(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the spec of rotary positions. Version 5 has all settings in `rope_parameters`; version 4 splits them into
    `rope_theta` and `rope_scaling`.
    """
    key = 'rope_scaling' if read(config, 'rope_scaling', dict, {}) else 'rope_parameters'
    rope = Settings(read(config, key, dict, {}), f'{key}.')
    require(rope, 'partial_rotary_factor', 1.0)
    kind = read(rope, 'rope_type', str, read(rope, 'type', str, 'default'))
    if kind not in _SCALINGS:
        raise UserError(f'config.json: unknown rope_type {shortened(kind)}; known: {", ".join(_SCALINGS)}')
    base = read(rope, 'rope_theta', float, read(config, 'rope_theta', float, 10000.0))
    if base < 1:
        raise UserError(f'config.json: rope_theta must be at least 1, not {base:g}')
    scaling = _SCALINGS[kind](config, rope)
    if unread := [name for name, value in rope.items() if value is not None and name not in rope.seen]:
        raise UserError(
            f'config.json: {rope.at}{unread[0]} is {shortened(rope[unread[0]])}, but rope_type {shortened(kind)} only '
            f'has {", ".join(sorted(rope.seen))}'
        )
    return {'use': 'position.rotary:Rotary', 'base': base, 'scaling': scaling}


def _linear(config: Mapping[str, Any], rope: Mapping[str, Any]) -> dict[str, Any]:
    return {'use': 'ops.rotary:linear', 'factor': read(rope, 'factor', float)}


def _llama3(config: Mapping[str, Any], rope: Mapping[str, Any]) -> dict[str, Any]:
    longest = read(config, 'max_position_embeddings', int)
    context_length = read(rope, 'original_max_position_embeddings', int, longest)
    return {
        'use': 'ops.rotary:llama3',
        'factor': read(rope, 'factor', float),
        'low': read(rope, 'low_freq_factor', float),
        'high': read(rope, 'high_freq_factor', float),
        'context_length': read(config, 'original_max_position_embeddings', int, context_length),
    }


_SCALINGS = {'default': lambda config, rope: None, 'linear': _linear, 'llama3': _llama3}

FAMILY = Family(
    spec,
    WEIGHTS,
    prefix='model.',
    copies={'lm_head.weight': 'embed_tokens.weight'},
    ignored=r'(layers\.\d+\.self_attn\.)?rotary_emb\.inv_freq',  # computed from rope_theta
    keys=_KEYS,
    tokens={'bos_token_id': 1, 'eos_token_id': 2},
)
