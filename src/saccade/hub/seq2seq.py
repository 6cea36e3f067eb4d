# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of encoder-decoders like BART: one embedding for both towers and the output, and a bias of the logits.

Lewis et al. 2020, "BART", https://arxiv.org/abs/1910.13461; names and settings are as in transformers. Linear kernels
are stored [out, in].
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from saccade.hub.encoder import Words, attention, layers, norm, projections
from saccade.hub.family import ONE_TEXT, ZEROS, Family, Weight
from saccade.hub.keys import CAUSAL, Keys
from saccade.hub.setting import read
from saccade.hub.template import (
    Activation,
    Config,
    Free,
    Inner,
    Kernel,
    Leaf,
    MismatchError,
    Place,
    Rate,
    Setting,
)

# Our names within a layer -> theirs.
LAYER = projections('query', 'key', 'value') | {
    'mixer/output': 'self_attn.out_proj',
    'mixer_norm': 'self_attn_layer_norm',
    'feedforward/up': 'fc1',
    'feedforward/down': 'fc2',
    'feedforward_norm': 'final_layer_norm',
}
_CROSS = {
    ours.replace('mixer', 'cross'): theirs.replace('self', 'encoder')
    for ours, theirs in LAYER.items()
    if ours.startswith('mixer')
}

WEIGHTS = (
    Weight('shared.weight', 'V D -> V D', ('encoder/embedding',)),
    *layers('encoder.layers.*', LAYER, 'encoder/'),
    *layers('decoder.layers.*', LAYER | _CROSS, 'decoder/'),
    *norm('encoder.layernorm_embedding', 'encoder/embedding_norm'),
    *norm('decoder.layernorm_embedding', 'decoder/position_norm'),
    *norm('encoder.layer_norm', 'encoder/norm'),
    *norm('decoder.layer_norm', 'decoder/norm'),
    Weight('final_logits_bias', '() V -> V', ('decoder/head_bias',), instead=ZEROS),
)
POSITIONS = tuple(f'{tower}.embed_positions.weight' for tower in ('encoder', 'decoder'))


def tables(skipped: int = 0) -> tuple[Weight, ...]:
    """Return the weights of tables of positions, which may have `skipped` rows before ours."""
    return tuple(
        Weight(name, 'T D -> T D', (f'{name.partition(".")[0]}/position/positions',), skipped) for name in POSITIONS
    )


LAYER_NORM = {'use': 'norm.layer:LayerNorm', 'epsilon': 1e-5}
LENGTH = Setting('max_position_embeddings', int)
LEARNED = {'use': 'position.learned:Learned', 'length': LENGTH}
_DROPOUT = Rate('dropout', default=0.1)


def keys(**others: Any) -> Keys:
    """Return the keys of BART's config class and similar ones. Args: others, of one family."""
    required = {**CAUSAL, 'is_encoder_decoder': True, 'tie_word_embeddings': True, **others.get('required', {})}
    # Settings of a single tower, and of training.
    harmless = ('is_decoder', 'encoder_layerdrop', 'decoder_layerdrop', 'activation_dropout')
    aliases = {
        'hidden_size': 'd_model',
        'num_attention_heads': 'encoder_attention_heads',
        'num_hidden_layers': 'encoder_layers',
    }
    return Keys(**{**others, 'required': required, 'harmless': harmless, 'aliases': aliases})


def template(block: str, towers: Mapping[str, Any], embedding_norm: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Template of the model.

    Args:
        block: use of the blocks.
        towers: further fields of both towers.
        embedding_norm: norm of the embedded tokens with their positions.
    """
    encoder, decoder = _tower('encoder', 'Full', block), _tower('decoder', 'Causal', block)
    cross = {'cross': _mixer('decoder', 'Full')}
    return {
        'use': 'model.encoder_decoder:EncoderDecoder',
        'encoder': {'use': 'model.encoder:Encoder', **encoder, 'embedding_norm': embedding_norm, **towers},
        'decoder': {
            'use': 'model.decoder:Decoder',
            'tied': True,
            'head_bias': Free(True),
            **decoder,
            'block': decoder['block'] | cross,
            'position_norm': embedding_norm,
            **towers,
        },
    }


def _tower(name: str, mask: str, block: str) -> dict[str, Any]:
    """Template of what both towers have."""
    return {
        'vocabulary': Setting('vocab_size', int),
        'context_length': LENGTH,
        'width': Setting('d_model', int),
        'layers': Setting(f'{name}_layers', int),
        'dropout': _DROPOUT,
        'embedding_scale': Scale(),
        'norm': {'use': 'norm.none:NoNorm'},
        'run': {'use': 'model.stack:Unrolled'},
        'block': {
            'use': block,
            'norm': LAYER_NORM,
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
    words = Words(width='d_model', heads=f'{tower}_attention_heads')
    return attention(words, mask) | {'dropout': _DROPOUT, 'kernel': Kernel('attention_dropout', 0.0)}


@dataclass(frozen=True)
class Scale(Leaf):
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


def family(architecture: str, template: Any, **more: Any) -> Family:
    """Return a family of encoder-decoders. Args: more, fields of `Family` that differ."""
    fields = {
        'weights': WEIGHTS,
        'prefix': 'model.',
        'copies': dict.fromkeys(
            ('encoder.embed_tokens.weight', 'decoder.embed_tokens.weight', 'lm_head.weight'), 'shared.weight'
        ),
        'ignored': '',
        'outside': r'final_logits_bias|(lm_head|classification_head|qa_outputs)\..*',
        'inputs': lambda config: 2 * ONE_TEXT,  # a source and a target
    }
    return Family(template, architecture=architecture, **{**fields, **more})
