# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of dual encoders of images and texts: two pre-norm towers with heads into one embedding space.

Radford et al. 2021, "CLIP", https://arxiv.org/abs/2103.00020; Zhai et al. 2023, "SigLIP",
https://arxiv.org/abs/2303.15343. Names and settings are as in transformers. Linear kernels are stored [out, in], the
patch kernel [out, channels, rows, columns].
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from saccade.hub.encoder import layer_norm, layers, norm
from saccade.hub.family import CONTEXT, Weight
from saccade.hub.setting import read, read_activation
from saccade.hub.vision import grid, image

_LAYER = {
    'mixer_norm': 'layer_norm1',
    'mixer/query': 'self_attn.q_proj',
    'mixer/key': 'self_attn.k_proj',
    'mixer/value': 'self_attn.v_proj',
    'mixer/output': 'self_attn.out_proj',
    'feedforward_norm': 'layer_norm2',
    'feedforward/up': 'mlp.fc1',
    'feedforward/down': 'mlp.fc2',
}


def tower(config: Mapping[str, Any], mask: str) -> dict[str, Any]:
    """Return the spec common to both towers: width, layers, norm and block.

    Args:
        mask: name of the attention mask, in `ops.mask`.

    Raises:
        UserError: a setting is missing, has the wrong type or an unsupported value.
    """
    return {
        'use': 'model.encoder:Encoder',
        'width': read(config, 'hidden_size', int),
        'layers': read(config, 'num_hidden_layers', int),
        'norm': layer_norm(config),
        'run': {'use': 'model.stack:Unrolled'},
        'block': {
            'use': 'block.pre_norm:PreNorm',
            'norm': layer_norm(config),
            'mixer': attention(config, mask),
            'feedforward': feedforward(config),
        },
    }


def attention(config: Mapping[str, Any], mask: str) -> dict[str, Any]:
    """Return the spec of a tower's attention.

    Raises:
        UserError: as for `tower`.
    """
    return {
        'use': 'attention.multi_head:MultiHead',
        'heads': read(config, 'num_attention_heads', int),
        'bias': True,
        'output_bias': True,
        'mask': {'use': f'ops.mask:{mask}'},
        'position': {'use': 'position.none:NoPosition'},
        'kernel': {'use': 'attention.plain:Plain', 'dropout': read(config, 'attention_dropout', float, 0.0)},
    }


def feedforward(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the spec of a tower's feed-forward layer.

    Raises:
        UserError: as for `tower`.
    """
    return {
        'use': 'feedforward.mlp:MLP',
        'activation': read_activation(config, 'hidden_act'),
        'ratio': read(config, 'intermediate_size', int) / read(config, 'hidden_size', int),
    }


def of_images(config: Mapping[str, Any], before: int) -> dict[str, Any]:
    """Return the other settings of an image tower: positions. Args: before, number of class tokens.

    Raises:
        UserError: as for `tower`.
    """
    rows, columns = grid(config)
    return {
        'context_length': rows * columns + before,
        'position': {'use': 'position.learned_grid:LearnedGrid', 'rows': rows, 'columns': columns, 'before': before},
    }


def of_texts(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the other settings of a text tower: vocabulary and positions.

    Raises:
        UserError: as for `tower`.
    """
    length = read(config, 'max_position_embeddings', int)
    return {
        'vocabulary': read(config, 'vocab_size', int),
        'context_length': length,
        'position': {'use': 'position.learned:Learned', 'length': length},
    }


def towers(config: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return the settings of the image tower and of the text tower.

    An older CLIP folder also has them in `*_config_dict`, which takes precedence.

    Raises:
        UserError: the settings of a tower are missing, or are not an object.
    """
    image, text = (
        read(config, f'{name}_config_dict', dict, None) or read(config, f'{name}_config', dict)
        for name in ('vision', 'text')
    )
    return image, text


def inputs(config: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the inputs of the model's `init`: one image of zeros and one text."""
    return image(towers(config)[0])[0], np.zeros((1, 1), np.int32), CONTEXT


def weights(patches: str) -> tuple[Weight, ...]:
    """Return the weights common to both families. Args: patches, path of the patch embedding."""
    ours = f'image/{patches}'
    return (
        Weight('text_model.embeddings.token_embedding.weight', 'V D -> V D', ('text/embedding',)),
        Weight('text_model.embeddings.position_embedding.weight', 'T D -> T D', ('text/position/positions',)),
        Weight('vision_model.embeddings.patch_embedding.weight', 'D C y x -> y x C D', (f'{ours}/kernel',)),
        Weight('vision_model.embeddings.patch_embedding.bias', 'D -> D', (f'{ours}/bias',)),
        Weight('vision_model.embeddings.position_embedding.weight', 'T D -> T D', ('image/position/positions',)),
        *layers('text_model.encoder.layers.*', _LAYER, 'text/'),
        *layers('vision_model.encoder.layers.*', _LAYER, 'image/'),
        *norm('text_model.final_layer_norm', 'text/norm'),
        *norm('vision_model.post_layernorm', 'image/norm'),
    )
