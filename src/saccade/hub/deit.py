# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""DeiT: a class token and a distillation token before the patches.

Touvron et al. 2021, "Training data-efficient image transformers", https://arxiv.org/abs/2012.12877; names and settings
of `DeiTModel` in transformers. The model with two classifiers (`DeiTForImageClassificationWithTeacher`) is not
supported.
"""

from saccade.hub.family import Family
from saccade.hub.vision import CLASSIFIER, KEYS, POOLER, channels, image, trunk, weights

FAMILY = Family(
    trunk(tokens=2),
    weights({'cls_token': 'embed/token', 'distillation_token': 'embed/embed/token'}),
    prefix='deit.',
    keys=KEYS,
    heads={'DeiTModel': (POOLER,), 'DeiTForImageClassification': (CLASSIFIER,)},
    inputs=image,
    outside=r'classifier\..*',
    sizes=channels(),
)
