# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""SigLIP: attention pooling of an image; a text is pooled at its last position, padding included.

Zhai et al. 2023, "Sigmoid Loss for Language Image Pre-Training", https://arxiv.org/abs/2303.15343; names and settings
of `SiglipModel` and `SiglipForImageClassification` in transformers; the latter does not use attention pooling. Its
tokenizer lower-cases texts and removes punctuation first; a tokenizer.json may omit these steps.
"""

from typing import Any

from saccade.hub.dual_encoder import IMAGE, family, of_images, of_texts, pooling, pooling_weights, tower, weights
from saccade.hub.encoder import affine
from saccade.hub.family import Weight, alone
from saccade.hub.keys import Keys
from saccade.hub.setting import read, require
from saccade.hub.template import Both, Config, Free, MismatchError, Setting
from saccade.hub.vision import classifier

_TOWER = {
    'hidden_size': 768, 'intermediate_size': 3072, 'num_hidden_layers': 12, 'num_attention_heads': 12,
    'hidden_act': 'gelu_pytorch_tanh', 'layer_norm_eps': 1e-6, 'attention_dropout': 0.0,
}  # fmt: skip
_IMAGE = Keys(defaults=_TOWER | {'num_channels': 3, 'image_size': 224, 'patch_size': 16})
_TEXT = Keys(defaults=_TOWER | {'vocab_size': 32000, 'max_position_embeddings': 64})


def _given(bias: float | None) -> dict[str, Any]:
    if bias is None:
        raise MismatchError('is None, which must be a number')
    return {}


def _projected(config: Config) -> int:
    text = read(config, 'text_config', dict)
    return read(text, 'projection_size', int, read(text, 'hidden_size', int))


_POOLS = f'{IMAGE}vision_use_head'


def _pools(config: Config) -> float:
    require(read(config, 'vision_config', dict), 'vision_use_head', True)
    return 0.0


_IMAGES = {
    **tower('vision_config', 'Full'),
    **of_images(tokens=0),
    'embed': {'use': 'embed.patch:PatchEmbedding', 'patch': Setting(f'{IMAGE}patch_size', int), 'bias': Free(True)},
}
TEMPLATE = {
    'use': 'model.dual_encoder:DualEncoder',
    'logit_scale': Free(1 / 0.07),  # at first; the parameters count
    'max_scale': Free(None),
    'logit_bias': Both(lambda config: 0.0, _given),  # at first; the parameter counts
    'image': {
        **_IMAGES,
        'heads': {
            'pooled': {
                'use': 'head.attention_pooled:AttentionPooled',
                'classes': None,
                'dropout': Both(_pools, lambda rate: {_POOLS: True}),
                **pooling('vision_config'),
            },
        },
    },
    'text': {
        **tower('text_config', 'Full'),
        **of_texts(),
        'embed': {
            'use': 'embed.padding_token:PaddingToken',
            'token': Setting('text_config.pad_token_id', int, 1, least=0),
            'embed': {'use': 'embed.token:TokenEmbedding'},
        },
        'heads': {
            'pooled': {
                'use': 'head.pooled:Pooled',
                'pool': {'use': 'ops.pool:last'},
                'classes': Both(_projected, lambda width: {'text_config.projection_size': width}),
                'dropout': Free(0.0),
            },
        },
    },
}  # fmt: skip

FAMILY = family(
    'Siglip',
    TEMPLATE,
    _IMAGES,
    classifier('mean', Both(lambda config: 0.0, lambda rate: {_POOLS: False})),
    weights=(
        *weights('embed'),
        *alone(weights('embed'), 'image/'),
        *pooling_weights('vision_model.head', 'image/pooled_head'),
        *affine('text_model.head', 'text/pooled_head/output', 'C D -> D C', 'C -> C'),
        Weight('logit_scale', '1 -> ', ('logit_scale',)),
        Weight('logit_bias', '1 -> ', ('logit_bias',)),
    ),
    ignored=r'(text|vision)_model\.embeddings\.position_ids|vision_model\.head\..*',
    keys=Keys(inner={'vision_config': _IMAGE, 'text_config': _TEXT}),
)
