# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of Vision Transformers: patches, class tokens, a learned grid of positions, and a pre-norm stack of layers.

Dosovitskiy et al. 2021, "An Image is Worth 16x16 Words", https://arxiv.org/abs/2010.11929; names and settings are those
of transformers. Linear kernels are stored [out, in], the patch kernel [out, channels, rows, columns].
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from saccade.hub.encoder import affine, layer_norm, layers, norm
from saccade.hub.family import CONTEXT, Head, Weight
from saccade.hub.heads import labels, pooled
from saccade.hub.keys import Keys
from saccade.hub.setting import read, read_activation, require
from saccade.types import LayerContext, UserError

PATCHES = (
    Weight('embeddings.patch_embeddings.projection.weight', 'D C y x -> y x C D', ('kernel',)),
    Weight('embeddings.patch_embeddings.projection.bias', 'D -> D', ('bias',)),
)
LAYERS = layers(
    'encoder.layer.*',
    {
        'mixer_norm': 'layernorm_before',
        'mixer/query': 'attention.attention.query',
        'mixer/key': 'attention.attention.key',
        'mixer/value': 'attention.attention.value',
        'mixer/output': 'attention.output.dense',
        'feedforward_norm': 'layernorm_after',
        'feedforward/up': 'intermediate.dense',
        'feedforward/down': 'output.dense',
    },
)


def trunk(config: Mapping[str, Any], tokens: int) -> dict[str, Any]:
    """Return the spec of our encoder, without heads, from a config.json.

    Args:
        tokens: number of class tokens before the patches.

    Raises:
        UserError: a setting is missing, has the wrong type or an unsupported value.
    """
    patch, (rows, columns) = read(config, 'patch_size', int), grid(config)
    dropout, embed = read(config, 'hidden_dropout_prob', float), {'use': 'embed.patch:PatchEmbedding', 'patch': patch}
    for _ in range(tokens):
        embed = {'use': 'embed.class_token:ClassToken', 'embed': embed}
    return {
        'use': 'model.encoder:Encoder',
        'embed': embed,
        'context_length': rows * columns + tokens,
        'width': read(config, 'hidden_size', int),
        'layers': read(config, 'num_hidden_layers', int),
        'dropout': dropout,
        'position': {'use': 'position.learned_grid:LearnedGrid', 'rows': rows, 'columns': columns, 'before': tokens},
        'norm': layer_norm(config),
        'run': {'use': 'model.stack:Unrolled'},
        'heads': {},
        'block': {
            'use': 'block.pre_norm:PreNorm',
            'norm': layer_norm(config),
            'mixer': {
                'use': 'attention.multi_head:MultiHead',
                'heads': read(config, 'num_attention_heads', int),
                'bias': read(config, 'qkv_bias', bool, True),
                'output_bias': True,
                'dropout': dropout,
                'mask': {'use': 'ops.mask:Full'},
                'position': {'use': 'position.none:NoPosition'},
                'kernel': {
                    'use': 'attention.plain:Plain',
                    'dropout': read(config, 'attention_probs_dropout_prob', float),
                },
            },
            'feedforward': {
                'use': 'feedforward.mlp:MLP',
                'activation': read_activation(config, 'hidden_act'),
                'ratio': read(config, 'intermediate_size', int) / read(config, 'hidden_size', int),
                'dropout': dropout,
            },
        },
    }


def grid(config: Mapping[str, Any]) -> tuple[int, int]:
    """Return the rows and columns of an image's patches.

    Raises:
        UserError: a setting is missing or has the wrong type, or the patch size does not divide the image size.
    """
    size, patch = read(config, 'image_size', int), read(config, 'patch_size', int)
    if size % patch:
        raise UserError(f'config.json: patch_size {patch} does not divide image_size {size}')
    return size // patch, size // patch


def image(config: Mapping[str, Any]) -> tuple[np.ndarray, LayerContext]:
    """Return the inputs of the model's `init`: one image of zeros, and its context."""
    size = read(config, 'image_size', int)
    return np.zeros((1, size, size, read(config, 'num_channels', int, 3)), np.float32), CONTEXT


def weights(tokens: Mapping[str, str]) -> tuple[Weight, ...]:
    """Return the weights of a Vision Transformer. Args: tokens, path of each class token, by its Hugging Face name."""
    inside = 'embed/' * (1 + len(tokens))
    return (
        *(Weight(f'embeddings.{theirs}', '1 1 D -> D', (ours,)) for theirs, ours in tokens.items()),
        *(Weight(weight.theirs, weight.layout, (f'{inside}{weight.ours[0]}',)) for weight in PATCHES),
        Weight('embeddings.position_embeddings', '1 T D -> T D', ('position/positions',)),
        *LAYERS,
        *norm('layernorm', 'norm'),
    )


def classifier(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the spec of the classifier on the first token."""
    return {'use': 'head.pooled:Pooled', 'pool': {'use': 'ops.pool:first'}, 'classes': labels(config)}


CLASSIFIER = Head('pooled', classifier, affine('classifier', 'pooled_head/output'))


def _pooler_activation(config: Mapping[str, Any]) -> dict[str, Any]:
    require(config, 'pooler_output_size', read(config, 'hidden_size', int))
    return read_activation(config, 'pooler_act', 'tanh')


POOLER = pooled('pooler.dense', function=_pooler_activation)
KEYS = Keys(harmless=('encoder_stride',))  # used only for masked images
