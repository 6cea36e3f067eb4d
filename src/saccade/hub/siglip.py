# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""SigLIP: attention pooling of an image; a text is pooled at its last position, padding included.

Zhai et al. 2023, "Sigmoid Loss for Language Image Pre-Training", https://arxiv.org/abs/2303.15343; names and settings
of `SiglipModel` in transformers. Its tokenizer lower-cases texts and removes punctuation first; a tokenizer.json may
omit these steps.
"""

from collections.abc import Mapping
from typing import Any

from saccade.hub.dual_encoder import attention, feedforward, inputs, of_images, of_texts, tower, towers, weights
from saccade.hub.encoder import affine, layer_norm, norm
from saccade.hub.family import Family, Weight
from saccade.hub.keys import Keys
from saccade.hub.setting import read

_POOLING = 'vision_model.head'
_POOLED = 'image/pooled_head'
_INTO_HEADS = tuple(f'{_POOLED}/mixer/{name}' for name in ('query', 'key', 'value'))

_TOWER = {
    'hidden_size': 768, 'intermediate_size': 3072, 'num_hidden_layers': 12, 'num_attention_heads': 12,
    'hidden_act': 'gelu_pytorch_tanh', 'layer_norm_eps': 1e-6, 'attention_dropout': 0.0,
}  # fmt: skip
_IMAGE = Keys(
    required={'vision_use_head': True},
    defaults=_TOWER | {'num_channels': 3, 'image_size': 224, 'patch_size': 16},
)
_TEXT = Keys(defaults=_TOWER | {'vocab_size': 32000, 'max_position_embeddings': 64})


def spec(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the spec of our model, from a `SiglipConfig`.

    Raises:
        UserError: a setting is missing, has the wrong type or an unsupported value.
    """
    image, text = towers(config)
    pooling = {'norm': layer_norm(image), 'mixer': attention(image, 'Full'), 'feedforward': feedforward(image)}
    images = {
        'embed': {'use': 'embed.patch:PatchEmbedding', 'patch': read(image, 'patch_size', int)},
        'heads': {'pooled': {'use': 'head.attention_pooled:AttentionPooled', 'classes': None, **pooling}},
    }
    tokens = {
        'use': 'embed.padding_token:PaddingToken',
        'token': read(text, 'pad_token_id', int, 1, least=0),
        'embed': {'use': 'embed.token:TokenEmbedding'},
    }
    width = read(text, 'projection_size', int, read(text, 'hidden_size', int))
    head = {'use': 'head.pooled:Pooled', 'pool': {'use': 'ops.pool:last'}, 'classes': width}
    return {
        'use': 'model.dual_encoder:DualEncoder',
        'most_scale': None,
        'logit_bias': 0.0,
        'image': tower(image, 'Full') | of_images(image, before=0) | images,
        'text': tower(text, 'Full') | of_texts(text) | {'embed': tokens, 'heads': {'pooled': head}},
    }


FAMILY = Family(
    spec,
    (
        *weights('embed'),
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
    ignored=r'(text|vision)_model\.embeddings\.position_ids',
    keys=Keys(inner={'vision_config': _IMAGE, 'text_config': _TEXT}),
    inputs=inputs,
)
