# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Vision Transformers on images in folders named after their classes, with the training of Steiner et al.

Steiner et al. 2022, "How to train your ViT? Data, Augmentation, and Regularization in Vision Transformers",
https://arxiv.org/abs/2106.10270.
"""

from ml_collections import ConfigDict
from saccade.experiments.vision.base import vision_transformer


def image_folder(*, patch: int, width: int, layers: int, heads: int) -> ConfigDict:
    """Return a run of a ViT on images of 224 by 224 pixels and 1,000 classes; `config.data.path` is required."""
    config = vision_transformer(
        steps=100_000, image=224, patch=patch, width=width, layers=layers, heads=heads, classes=1000
    )
    config.batch_size = 1024
    config.dtype = 'bfloat16'
    config.optimizer.weight_decay = 0.1
    config.task.augment = [
        dict(use='augment.crop:Crop', least=0.08),
        dict(use='augment.flip:Flip'),
        dict(use='augment.mixup:Mixup', alpha=0.2),
    ]
    config.data = dict(
        use='data.image.folder:ImageFolder',
        path=None,
        name=None,
        classes=config.model.heads.pooled.get_ref('classes'),
        processor=dict(use='data.image.processor:ImageProcessor', size=[224, 224], resize=256, convert=True),
        validation=0.05,
    )
    return config
