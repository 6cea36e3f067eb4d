# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""CLIP and OpenCLIP: an image encoder with a class token, and a causal text encoder pooled at its last token.

Radford et al. 2021, "Learning Transferable Visual Models From Natural Language Supervision",
https://arxiv.org/abs/2103.00020; names and settings of `CLIPModel` and `CLIPForImageClassification` in transformers, a
format in which OpenCLIP's weights (https://github.com/mlfoundations/open_clip) are published too. The classifier reads
the mean of the patches without the last norm; such a folder has the norm all the same, and ours lacks it.
"""

from saccade.hub.dual_encoder import family, layer_norm, of_images, of_texts, tower, weights
from saccade.hub.encoder import norm
from saccade.hub.family import Weight, alone
from saccade.hub.keys import CAUSAL, Keys
from saccade.hub.template import Free, Setting
from saccade.hub.vision import classifier

_TOWER = {
    'num_hidden_layers': 12, 'hidden_act': 'quick_gelu', 'layer_norm_eps': 1e-5, 'attention_dropout': 0.0,
}  # fmt: skip
_IMAGE = Keys(
    harmless=('projection_dim',),  # used only by a single tower
    defaults=_TOWER | {
        'hidden_size': 768, 'intermediate_size': 3072, 'num_attention_heads': 12, 'num_channels': 3, 'image_size': 224,
        'patch_size': 32,
    },
)  # fmt: skip
_TEXT = Keys(
    required=CAUSAL,
    harmless=('projection_dim',),
    defaults=_TOWER | {
        'vocab_size': 49408, 'hidden_size': 512, 'intermediate_size': 2048, 'num_attention_heads': 8,
        'max_position_embeddings': 77,
    },
)  # fmt: skip


_KEYS = Keys(
    harmless=('logit_scale_init_value',),
    inner={
        f'{name}_config{end}': keys for name, keys in (('vision', _IMAGE), ('text', _TEXT)) for end in ('', '_dict')
    },
    replaces={f'{name}_config_dict': f'{name}_config' for name in ('vision', 'text')},
)

_PATCHES = {'use': 'embed.patch:PatchEmbedding', 'patch': Setting('vision_config.patch_size', int), 'bias': False}
_PROJECTION = {
    'use': 'head.pooled:Pooled',
    'classes': Setting('projection_dim', int, 512),
    'bias': False,
    'dropout': Free(0.0),
}
_IMAGES = {
    **tower('vision_config', 'Full'),
    **of_images(tokens=1),
    'embed': {'use': 'embed.class_token:ClassToken', 'embed': _PATCHES},
    'embedding_norm': layer_norm('vision_config'),
}
TEMPLATE = {
    'use': 'model.dual_encoder:DualEncoder',
    'logit_scale': Free(1 / 0.07),  # at first; the parameter counts
    'max_scale': Free(100.0),
    'image': {**_IMAGES, 'heads': {'pooled': {**_PROJECTION, 'pool': {'use': 'ops.pool:first'}}}},
    'text': {
        **tower('text_config', 'Causal'),
        **of_texts(),
        'heads': {'pooled': {**_PROJECTION, 'pool': {'use': 'ops.pool:last'}}},
    },
}

_WEIGHTS = (
    *weights('embed/embed'),
    Weight('vision_model.embeddings.class_embedding', 'D -> D', ('image/embed/token',)),
    *norm('vision_model.pre_layrnorm', 'image/embedding_norm'),
)

FAMILY = family(
    'CLIP',
    TEMPLATE,
    _IMAGES | {'norm': {'use': 'norm.none:NoNorm'}},
    classifier('mean_after_first'),
    weights=(
        *_WEIGHTS,
        *alone(_WEIGHTS, 'image/'),
        Weight('visual_projection.weight', 'C D -> D C', ('image/pooled_head/output',)),
        Weight('text_projection.weight', 'C D -> D C', ('text/pooled_head/output',)),
        Weight('logit_scale', ' -> ', ('logit_scale',)),
    ),
    ignored=r'(text|vision)_model\.embeddings\.position_ids|vision_model\.post_layernorm\.(weight|bias)',
    keys=_KEYS,
)
