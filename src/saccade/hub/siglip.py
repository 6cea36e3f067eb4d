# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""SigLIP: attention pooling of an image; a text is pooled at its last position, padding included.

Zhai et al. 2023, "Sigmoid Loss for Language Image Pre-Training", https://arxiv.org/abs/2303.15343; names and settings
of `SiglipModel` and `SiglipForImageClassification` in transformers; the latter does not use attention pooling. Its
tokenizer lower-cases texts and removes punctuation first; a tokenizer.json may omit these steps.
"""

from typing import Any

from saccade.hub.dual_encoder import IMAGE, inputs, of_images, of_texts, one_image, pooling, tower, weights
from saccade.hub.encoder import affine, norm
from saccade.hub.family import Family, Trunk, Weight, alone
from saccade.hub.keys import Keys
from saccade.hub.setting import read, require
from saccade.hub.template import Both, Config, Free, MismatchError, Place, Setting
from saccade.hub.vision import channels, classifier

_POOLING = 'vision_model.head'
_POOLED = 'image/pooled_head'
_INTO_HEADS = tuple(f'{_POOLED}/mixer/{name}' for name in ('query', 'key', 'value'))

_TOWER = {
    'hidden_size': 768, 'intermediate_size': 3072, 'num_hidden_layers': 12, 'num_attention_heads': 12,
    'hidden_act': 'gelu_pytorch_tanh', 'layer_norm_eps': 1e-6, 'attention_dropout': 0.0,
}  # fmt: skip
_IMAGE = Keys(defaults=_TOWER | {'num_channels': 3, 'image_size': 224, 'patch_size': 16})
_TEXT = Keys(defaults=_TOWER | {'vocab_size': 32000, 'max_position_embeddings': 64})


class _LogitBias(Free):
    """Start of the bias of the logits, which the family has."""

    def write(self, value: float | None, place: Place) -> dict[str, Any]:
        """Return no setting: the parameter counts."""
        if value is None:
            raise MismatchError('is None, which must be a number')
        return {}


class _Projected(Setting):
    """Width of the vectors; that of the tower where config.json gives none."""

    def read(self, config: Config) -> int:
        """Return the width."""
        text = read(config, 'text_config', dict)
        return read(text, 'projection_size', int, read(text, 'hidden_size', int))


_POOLS = f'{IMAGE}vision_use_head'


def _pools(config: Config) -> None:
    require(read(config, 'vision_config', dict), 'vision_use_head', True)


def _no_classes(classes: int | None) -> dict[str, Any]:
    if classes is not None:
        raise MismatchError(f'is {classes}, which must be None')
    return {_POOLS: True}


_IMAGES = {
    **tower('vision_config', 'Full'),
    **of_images(tokens=0),
    'embed': {
        'use': 'embed.patch:PatchEmbedding',
        'patch': Setting('vision_config.patch_size', int),
        'bias': Free(True),
    },
}
_CLASSIFIER = classifier('mean', Both(lambda config: 0.0, lambda rate: {_POOLS: False}))
TEMPLATE = {
    'use': 'model.dual_encoder:DualEncoder',
    'logit_scale': Free(1 / 0.07),  # at first; the parameters count
    'max_scale': Free(None),
    'logit_bias': _LogitBias(0.0),
    'image': {
        **_IMAGES,
        'heads': {
            'pooled': {
                'use': 'head.attention_pooled:AttentionPooled',
                'classes': Both(_pools, _no_classes),
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
                'classes': _Projected('text_config.projection_size', int),
                'dropout': Free(0.0),
            },
        },
    },
}  # fmt: skip

FAMILY = Family(
    TEMPLATE,
    (
        *weights('embed'),
        *alone(weights('embed'), 'image/'),
        Weight(f'{_POOLING}.probe', '1 1 D -> D', (f'{_POOLED}/query',)),
        Weight(f'{_POOLING}.attention.in_proj_weight', '(part N H) D -> part D N H', _INTO_HEADS),
        Weight(
            f'{_POOLING}.attention.in_proj_bias',
            '(part N H) -> part N H',
            tuple(f'{path}_bias' for path in _INTO_HEADS),
        ),
        *affine(f'{_POOLING}.attention.out_proj', f'{_POOLED}/mixer/output', 'D (N H) -> N H D', 'D -> D'),
        *norm(f'{_POOLING}.layernorm', f'{_POOLED}/norm'),
        *affine(f'{_POOLING}.mlp.fc1', f'{_POOLED}/feedforward/up'),
        *affine(f'{_POOLING}.mlp.fc2', f'{_POOLED}/feedforward/down'),
        *affine('text_model.head', 'text/pooled_head/output', 'C D -> D C', 'C -> C'),
        Weight('logit_scale', '1 -> ', ('logit_scale',)),
        Weight('logit_bias', '1 -> ', ('logit_bias',)),
    ),
    prefix='',
    copies={},
    ignored=r'(text|vision)_model\.embeddings\.position_ids|vision_model\.head\..*',
    keys=Keys(inner={'vision_config': _IMAGE, 'text_config': _TEXT}),
    inputs=inputs,
    heads={'SiglipForImageClassification': (_CLASSIFIER,)},
    trunks={'SiglipForImageClassification': Trunk(_IMAGES, one_image)},
    architecture='SiglipModel',
    sizes=channels(IMAGE),
)
