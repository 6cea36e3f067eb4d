# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of dual encoders of images and texts: two pre-norm towers with heads into one embedding space.

Radford et al. 2021, "CLIP", https://arxiv.org/abs/2103.00020; Zhai et al. 2023, "SigLIP",
https://arxiv.org/abs/2303.15343. Names and settings are as in transformers. Linear kernels are stored [out, in], the
patch kernel [out, channels, rows, columns].
"""

from collections.abc import Mapping
from typing import Any

from saccade.hub.encoder import Words, affine, attention, layers, norm
from saccade.hub.family import ONE_TEXT, Family, Head, Trunk, Weight
from saccade.hub.setting import read
from saccade.hub.template import Activation, Config, Free, Inner, Setting
from saccade.hub.vision import Places, channels, grid_positions, image

IMAGE = 'vision_config.'

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


_WORDS = Words(dropout=None, weights_dropout='attention_dropout')


def layer_norm(key: str) -> dict[str, Any]:
    """Template of the layer norms of a tower. Args: key, of its object in config.json."""
    return {'use': 'norm.layer:LayerNorm', 'epsilon': Setting(f'{key}.layer_norm_eps', float)}


def tower(key: str, mask: str) -> dict[str, Any]:
    """Template of what both towers have: width, layers, norm and block.

    Args:
        key: of the tower's object in config.json.
        mask: of its attention, in `ops.mask`.
    """
    words, norm = _WORDS.inside(key), layer_norm(key)
    return {
        'use': 'model.encoder:Encoder',
        'width': Setting(words.width, int),
        'layers': Setting(words.layers, int),
        'dropout': Free(0.0),
        'norm': norm,
        'run': {'use': 'model.stack:Unrolled'},
        'block': {
            'use': 'block.pre_norm:PreNorm',
            'norm': norm,
            'mixer': attention(words, mask),
            'feedforward': feedforward(key),
        },
    }


def pooling(key: str) -> dict[str, Any]:
    """Template of an attention pooling with a feed-forward layer, as SigLIP's. Args: key, of the tower's object."""
    mixer, norm = attention(_WORDS.inside(key), 'Full'), layer_norm(key)
    return {'norm': norm, 'mixer': mixer, 'feedforward': feedforward(key)}


def pooling_weights(theirs: str, ours: str) -> tuple[Weight, ...]:
    """Return the weights of an attention pooling, from both names of it."""
    maps = tuple(f'{ours}/mixer/{name}' for name in ('query', 'key', 'value'))
    return (
        Weight(f'{theirs}.probe', '1 M D -> M D', (f'{ours}/query',)),
        Weight(f'{theirs}.attention.in_proj_weight', '(part N H) D -> part D N H', maps),
        Weight(f'{theirs}.attention.in_proj_bias', '(part N H) -> part N H', tuple(f'{path}_bias' for path in maps)),
        *affine(f'{theirs}.attention.out_proj', f'{ours}/mixer/output', 'D (N H) -> N H D', 'D -> D'),
        *norm(f'{theirs}.layernorm', f'{ours}/norm'),
        *affine(f'{theirs}.mlp.fc1', f'{ours}/feedforward/up'),
        *affine(f'{theirs}.mlp.fc2', f'{ours}/feedforward/down'),
    )


def feedforward(key: str) -> dict[str, Any]:
    """Template of the feed-forward layer of a tower. Args: key, of the tower's object in config.json."""
    words = _WORDS.inside(key)
    return {
        'use': 'feedforward.mlp:MLP',
        'activation': Activation(words.activation),
        'ratio': Inner(words.inner, words.width),
        'bias': Free(True),
        'dropout': Free(0.0),
    }


def of_images(tokens: int) -> dict[str, Any]:
    """Template of what a tower of images has besides, but for its embedding: positions. Args: tokens, of the class."""
    return {'context_length': Places(tokens, IMAGE), 'position': grid_positions(tokens, IMAGE)}


def of_texts() -> dict[str, Any]:
    """Template of what a tower of texts has besides: a vocabulary and positions."""
    length = Setting('text_config.max_position_embeddings', int)
    return {
        'vocabulary': Setting('text_config.vocab_size', int),
        'context_length': length,
        'position': {'use': 'position.learned:Learned', 'length': length},
    }


def _inputs(config: Config) -> tuple[Any, ...]:
    """One image of zeros and one text, as the model reads them."""
    return _one_image(config)[0], *ONE_TEXT


def _one_image(config: Config) -> tuple[Any, ...]:
    """One image of zeros, as the encoder of images reads it without that of texts."""
    return image(read(config, 'vision_config', dict))


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


def family(name: str, template: Any, images: Mapping[str, Any], classifies: Head, **more: Any) -> Family:
    """Return a family of dual encoders.

    Args:
        name: of the architectures, as 'CLIP'.
        images: template of an encoder of images alone, under a head.
        classifies: the head.
        more: other fields of `Family`.
    """
    classifier = f'{name}ForImageClassification'
    return Family(
        template,
        heads={classifier: (classifies,)},
        trunks={classifier: Trunk(images, _one_image)},
        inputs=_inputs,
        architecture=f'{name}Model',
        sizes=channels(IMAGE),
        **more,
    )
