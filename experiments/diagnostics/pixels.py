# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
r"""Pixel-level image classification: each pixel of a digit is a token, row after row, without marks of the row ends.

    python launch/train.py --config=experiments/diagnostics/pixels.py --workdir=runs/pixels

scikit-learn's digits are 64 pixels; a stratified fifth is held out. Needs the extra `vision`. Tay et al. 2020, "Long
Range Arena", table 1, https://arxiv.org/abs/2011.04006, use CIFAR-10 in grey, 1,024 pixels; the accuracy of
Transformers without a causal mask is 42.4%, with linear attention 42.3%. For these images, from TFDS or a folder by
class (`path`):

    --config.model.context_length=1024 --config.baseline="{'use': 'task.classification:majority'}" \
    --config.data="{'use': 'data.image.folder:ImageFolder', 'name': 'cifar10', 'classes': 10, 'size': [32, 32], \
    'channels': 1, 'convert': True}"
"""

from ml_collections import ConfigDict
from saccade.experiments.diagnostics.base import ROTARY_ATTENTION, small_model
from saccade.experiments.run_settings import settings


def get_config() -> ConfigDict:
    config = settings(steps=2000)
    config.batch_size = 64
    config.eval_every = 500
    config.task = dict(use='task.classification:Classification', label_smoothing=0.0, augment=[])
    config.baseline = dict(use='baseline.images:classifiers')
    config.data = dict(
        use='data.image.digits:Digits',
        held_out=dict(use='data.image.digits:stratified_fifth'),
        processor=dict(use='data.image.processor:ImageProcessor', size=[8, 8], channels=1, mean=[0.0], deviation=[0.4]),
    )
    config.model = small_model(ROTARY_ATTENTION) | dict(
        use='model.encoder:Encoder',
        context_length=64,
        embed=dict(use='embed.patch:PatchEmbedding', patch=1),
        heads=dict(pooled=dict(use='head.pooled:Pooled', classes=10, pool=dict(use='ops.pool:mean'))),
    )
    return config
