# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""CLIP and OpenCLIP: a class token before the patches, a causal tower of texts whose last token is read.

Radford et al. 2021, "Learning Transferable Visual Models From Natural Language Supervision",
https://arxiv.org/abs/2103.00020; the names and settings are those of `CLIPModel` in transformers, as which the weights
of OpenCLIP (https://github.com/mlfoundations/open_clip) are stored too.
"""

from collections.abc import Mapping
from typing import Any

from saccade.hub.dual_encoder import inputs, of_images, of_texts, tower, weights
from saccade.hub.encoder import layer_norm, norm
from saccade.hub.family import Family, Weight
from saccade.hub.setting import read


def spec(config: Mapping[str, Any]) -> dict[str, Any]:
    """From their config to our model.

    Raises:
        UserError: a setting is missing, has the wrong type, or asks for what we cannot represent.
    """
    usual = {'hidden_act': 'quick_gelu', 'layer_norm_eps': 1e-5}
    image, text = (usual | read(config, f'{name}_config', dict) for name in ('vision', 'text'))
    projection = {'use': 'head.pooled:Pooled', 'classes': read(config, 'projection_dim', int, 512), 'bias': False}
    patches = {'use': 'embed.patch:PatchEmbedding', 'patch': read(image, 'patch_size', int), 'bias': False}
    images = {
        'embed': {'use': 'embed.class_token:ClassToken', 'embed': patches},
        'embedding_norm': layer_norm(image),
        'heads': {'pooled': projection | {'pool': {'use': 'ops.pool:first'}}},
    }
    return {
        'use': 'model.dual_encoder:DualEncoder',
        'image': tower(image, 'Full') | of_images(image, before=1) | images,
        'text': tower(text, 'Causal')
        | of_texts(text)
        | {'heads': {'pooled': projection | {'pool': {'use': 'ops.pool:last'}}}},
    }


FAMILY = Family(
    spec,
    (
        *weights('embed/embed'),
        Weight('vision_model.embeddings.class_embedding', 'D -> D', ('image/embed/token',)),
        *norm('vision_model.pre_layrnorm', 'image/embedding_norm'),
        Weight('visual_projection.weight', 'C D -> D C', ('image/pooled_head/output',)),
        Weight('text_projection.weight', 'C D -> D C', ('text/pooled_head/output',)),
        Weight('logit_scale', ' -> ', ('logit_scale',)),
    ),
    prefix='',
    copies={},
    ignored=r'(text|vision)_model\.embeddings\.position_ids',
    inputs=inputs,
)
