# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""ViT: a class token before the patches.

Dosovitskiy et al. 2021, "An Image is Worth 16x16 Words", https://arxiv.org/abs/2010.11929; names and settings of
`ViTModel` and its heads in transformers.
"""

from saccade.hub.family import Family
from saccade.hub.vision import CLASSIFIER, KEYS, POOLER, channels, image, trunk, weights

FAMILY = Family(
    trunk(tokens=1),
    weights({'cls_token': 'embed/token'}),
    prefix='vit.',
    keys=KEYS,
    heads={'ViTModel': (POOLER,), 'ViTForImageClassification': (CLASSIFIER,)},
    inputs=image,
    outside=r'classifier\..*',
    sizes=channels(),
)
