# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""ViT-B/32: 88,224,232 parameters with a classifier of 1,000 classes.

    python launch/train.py --config=experiments/vision/vit_b32.py --workdir=runs/vit_b32 --config.data.path=FOLDER

Dosovitskiy et al. 2021, https://arxiv.org/abs/2010.11929, table 1. FOLDER has a folder of
images for each class, or such folders in train/ and validation/; `--config.data.classes` is their number. A TFDS
dataset is `--config.data.path=None --config.data.name=NAME`. For accelerators.
"""

from ml_collections import ConfigDict
from saccade.experiments.vision.folder import image_folder


def get_config() -> ConfigDict:
    return image_folder(patch=32, width=768, layers=12, heads=12)
