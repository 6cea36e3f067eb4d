# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Marian: a translation model with post-norm, biases everywhere, sinusoidal positions, one embedding, and a logit bias.

Junczys-Dowmunt et al. 2018, "Marian: Fast Neural Machine Translation in C++", https://arxiv.org/abs/1804.00344, as in
the published OPUS-MT models; names and settings of `MarianMTModel` in transformers. Linear kernels are stored [out,
in]; in a position vector all sines precede all cosines.
"""

import math
from typing import Any

import numpy as np

from saccade.hub.encoder import layers
from saccade.hub.family import ONE_TEXT, Family, Weight
from saccade.hub.keys import CAUSAL, Keys
from saccade.hub.setting import read, require
from saccade.hub.template import (
    Activation,
    Both,
    Config,
    Free,
    HeadWidth,
    Inner,
    Kernel,
    Leaf,
    MismatchError,
    Place,
    Rate,
    Setting,
    Usual,
)
from saccade.ops.rotary import frequencies

# Our names within a layer -> theirs.
_LAYER = {f'mixer/{ours}': f'self_attn.{ours[0]}_proj' for ours in ('query', 'key', 'value')} | {
    'mixer/output': 'self_attn.out_proj',
    'mixer_norm': 'self_attn_layer_norm',
    'feedforward/up': 'fc1',
    'feedforward/down': 'fc2',
    'feedforward_norm': 'final_layer_norm',
}
_CROSS = {f'cross/{ours}': f'encoder_attn.{ours[0]}_proj' for ours in ('query', 'key', 'value')} | {
    'cross/output': 'encoder_attn.out_proj',
    'cross_norm': 'encoder_attn_layer_norm',
}

WEIGHTS = (
    Weight('shared.weight', 'V D -> V D', ('encoder/embedding',)),
    *layers('encoder.layers.*', _LAYER, 'encoder/'),
    *layers('decoder.layers.*', _LAYER | _CROSS, 'decoder/'),
    Weight('final_logits_bias', '() V -> V', ('decoder/head_bias',)),
)

_DROPOUT = Rate('dropout', default=0.1)

_KEYS = Keys(
    required={
        **CAUSAL,
        'is_encoder_decoder': True,
        'share_encoder_decoder_embeddings': True,
        'tie_word_embeddings': True,
        'activation_dropout': 0.0,
        # In older folders.
        'static_position_embeddings': True,
        'normalize_before': False,
        'normalize_embedding': False,
        'add_final_layer_norm': False,
    },
    # Settings of a single tower, and of training.
    harmless=('is_decoder', 'encoder_layerdrop', 'decoder_layerdrop'),
    aliases={
        'hidden_size': 'd_model',
        'num_attention_heads': 'encoder_attention_heads',
        'num_hidden_layers': 'encoder_layers',
    },
)


def _vocabulary(config: Config) -> int:
    size = read(config, 'vocab_size', int)
    require(config, 'decoder_vocab_size', size)
    return size


def _tower(name: str, mask: str) -> dict[str, Any]:
    """Template of one tower, without cross-attention."""
    return {
        'vocabulary': Both(_vocabulary, lambda size: {'vocab_size': size, 'decoder_vocab_size': size}),
        'context_length': Setting('max_position_embeddings', int),
        'width': Setting('d_model', int),
        'layers': Setting(f'{name}_layers', int),
        'dropout': _DROPOUT,
        'embedding_scale': _Scale(),
        'position': {'use': 'position.sinusoid:Sinusoid', 'pairing': {'use': 'ops.rotary:halves'}},
        'norm': {'use': 'norm.none:NoNorm'},
        'run': {'use': 'model.stack:Unrolled'},
        'block': {
            'use': 'block.post_norm:PostNorm',
            'norm': {'use': 'norm.layer:LayerNorm', 'epsilon': 1e-5},
            'mixer': _mixer(name, mask),
            'feedforward': {
                'use': 'feedforward.mlp:MLP',
                'activation': Activation('activation_function', 'gelu'),
                'ratio': Inner(f'{name}_ffn_dim', 'd_model'),
                'bias': Free(True),
                'dropout': _DROPOUT,
            },
        },
    }


def _mixer(tower: str, mask: str) -> dict[str, Any]:
    return {
        'use': 'attention.multi_head:MultiHead',
        'heads': Setting(f'{tower}_attention_heads', int),
        'key_value_heads': Usual(None, lambda fields: fields['heads']),
        'head_width': HeadWidth('d_model', f'{tower}_attention_heads'),
        'bias': Free(True),
        'output_bias': Free(True),
        'dropout': _DROPOUT,
        'mask': {'use': f'ops.mask:{mask}'},
        'position': {'use': 'position.none:NoPosition'},
        'kernel': Kernel('attention_dropout', 0.0),
    }


class _Scale(Leaf):
    """Factor of the embedded tokens: the root of the width, or 1."""

    def read(self, config: Config) -> float:
        """Return the factor."""
        return read(config, 'd_model', int) ** 0.5 if read(config, 'scale_embedding', bool, False) else 1.0

    def write(self, value: float, place: Place) -> dict[str, Any]:
        """Return the setting."""
        root = place.fields['width'] ** 0.5
        if not any(math.isclose(value, scale, rel_tol=1e-6) for scale in (1.0, root)):
            raise MismatchError(f'is {value}, which must be 1 or the root of the width, {root:g}')
        return {'scale_embedding': value != 1.0}


_DECODER = _tower('decoder', 'Causal')
TEMPLATE = {
    'use': 'model.encoder_decoder:EncoderDecoder',
    'encoder': {'use': 'model.encoder:Encoder', **_tower('encoder', 'Full')},
    'decoder': {
        'use': 'model.decoder:Decoder',
        'tied': True,
        'head_bias': Free(True),
        **_DECODER,
        'block': {**_DECODER['block'], 'cross': _mixer('decoder', 'Full')},
    },
}


def _sinusoids(length: int, width: int) -> np.ndarray:
    """Return the table of positions, [T D]."""
    angle = np.arange(length)[:, None] * frequencies(width, 10000.0)
    return np.concatenate([np.sin(angle), np.cos(angle)], axis=-1)[:, :width]


FAMILY = Family(
    TEMPLATE,
    WEIGHTS,
    prefix='model.',
    copies=dict.fromkeys(
        ('encoder.embed_tokens.weight', 'decoder.embed_tokens.weight', 'lm_head.weight'), 'shared.weight'
    ),
    ignored='',
    architecture='MarianMTModel',
    outside=r'final_logits_bias|lm_head\.weight',
    keys=_KEYS,
    constants=dict.fromkeys(('encoder.embed_positions.weight', 'decoder.embed_positions.weight'), _sinusoids),
    tokens={'pad_token_id': 58100, 'decoder_start_token_id': 58100, 'eos_token_id': 0, 'forced_eos_token_id': 0},
    inputs=lambda config: 2 * ONE_TEXT,  # a source and a target
)
