# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of Vision Transformers: patches, class tokens, a learned grid of positions, and a pre-norm stack of layers.

Dosovitskiy et al. 2021, "An Image is Worth 16x16 Words", https://arxiv.org/abs/2010.11929; names and settings are those
of transformers. Linear kernels are stored [out, in], the patch kernel [out, channels, rows, columns].
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from saccade.hub.encoder import LAYER_NORM, affine, attention, layers, norm
from saccade.hub.family import CONTEXT, Head, Weight
from saccade.hub.heads import LABELS, pooled
from saccade.hub.keys import Keys
from saccade.hub.setting import read, require
from saccade.hub.template import Activation, Config, Free, Inner, Leaf, Place, Rate, Setting, dotted
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


def trunk(tokens: int) -> dict[str, Any]:
    """Template of the encoder, without heads. Args: tokens, class tokens before the patches."""
    embed = {'use': 'embed.patch:PatchEmbedding', 'patch': Setting('patch_size', int), 'bias': Free(True)}
    for _ in range(tokens):
        embed = {'use': 'embed.class_token:ClassToken', 'embed': embed}
    return {
        'use': 'model.encoder:Encoder',
        'embed': embed,
        'context_length': Places(tokens),
        'width': Setting('hidden_size', int),
        'layers': Setting('num_hidden_layers', int),
        'dropout': Rate('hidden_dropout_prob'),
        'position': grid_positions(tokens),
        'norm': LAYER_NORM,
        'run': {'use': 'model.stack:Unrolled'},
        'heads': {},
        'block': {
            'use': 'block.pre_norm:PreNorm',
            'norm': LAYER_NORM,
            'mixer': attention(bias=Setting('qkv_bias', bool, True)),
            'feedforward': {
                'use': 'feedforward.mlp:MLP',
                'activation': Activation('hidden_act'),
                'ratio': Inner('intermediate_size', 'hidden_size'),
                'bias': Free(True),
                'dropout': Rate('hidden_dropout_prob'),
            },
        },
    }


@dataclass(frozen=True)
class Places(Leaf):
    """Number of patches and class tokens. Attributes: class tokens; prefix of the keys, as 'vision_config.'."""

    tokens: int
    prefix: str = ''

    def read(self, config: Config) -> int:
        """Return the number."""
        return _side(config, self.prefix) ** 2 + self.tokens

    def write(self, value: int, place: Place) -> dict[str, Any]:
        """Return the size of images."""
        return _image_size(math.isqrt(max(value - self.tokens, 0)), self.prefix)


@dataclass(frozen=True)
class Side(Leaf):
    """Number of rows, or of columns, of patches. Attributes: prefix of the keys."""

    prefix: str = ''

    def read(self, config: Config) -> int:
        """Return the number."""
        return _side(config, self.prefix)

    def write(self, value: int, place: Place) -> dict[str, Any]:
        """Return the size of images, in which there are as many rows as columns."""
        return _image_size(value, self.prefix)


def grid_positions(tokens: int, prefix: str = '') -> dict[str, Any]:
    """Template of the learned positions of a grid of patches. Args: tokens, before the patches; prefix of the keys."""
    return {
        'use': 'position.learned_grid:LearnedGrid',
        'rows': Side(prefix),
        'columns': Side(prefix),
        'before': tokens,
    }


def _side(config: Config, prefix: str) -> int:
    size, patch = (dotted(config, f'{prefix}{name}', int) for name in ('image_size', 'patch_size'))
    if size % patch:
        raise UserError(f'config.json: {prefix}patch_size {patch} does not divide image_size {size}')
    return size // patch


def _image_size(side: int, prefix: str) -> dict[str, Any]:
    return {f'{prefix}image_size': lambda settings: side * settings[f'{prefix}patch_size']}


def channels(prefix: str = '') -> Callable[[Mapping[str, tuple[int, ...]]], dict[str, int]]:
    """Return the function that finds the channels of images in the shapes of parameters. Args: prefix, of the key."""
    return lambda shapes: {
        f'{prefix}num_channels': next(shape[2] for path, shape in shapes.items() if path.endswith('embed/kernel'))
    }


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


_NO_DROPOUT = Free(0.0)


def classifier(pool: str, dropout: Leaf = _NO_DROPOUT) -> Head:
    """The head 'pooled' of an output layer alone. Args: pool, in `ops.pool`; dropout, of its input."""
    template = {'use': 'head.pooled:Pooled', 'pool': {'use': f'ops.pool:{pool}'}, 'classes': LABELS, 'dropout': dropout}
    return Head('pooled', template, affine('classifier', 'pooled_head/output'))


CLASSIFIER = classifier('first')


class _PoolerActivation(Activation):
    """Activation of the pooler, which is as wide as the model."""

    def read(self, config: Config) -> dict[str, Any]:
        """Return the spec of the function."""
        require(config, 'pooler_output_size', read(config, 'hidden_size', int))
        return super().read(config)


POOLER = pooled('pooler.dense', activation=_PoolerActivation('pooler_act', 'tanh'))
KEYS = Keys(harmless=('encoder_stride',))  # of masked images
