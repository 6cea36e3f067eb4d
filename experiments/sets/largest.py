# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
r"""Largest number of a set, by a Set Transformer: two SAB, and pooling by attention (PMA).

    python launch/train.py --config=experiments/sets/largest.py --workdir=runs/largest
    python launch/evaluate.py --workdir=runs/largest

Lee et al. 2019, "Set Transformer", section 5.1, https://arxiv.org/abs/1810.00825; no norms, as in the authors' code.
Nothing is downloaded: the sets are generated. The loss is the mean absolute error, and `sweeps/pooling_of_sets.py`
compares poolings. With inducing points (ISAB):

    --config.model.block.mixer="{'use': 'attention.induced:Induced', 'points': 8, 'mixer': {
        'use': 'attention.set_attention:SetAttention', 'heads': 4, 'norm': None, 'bias': True, 'output_bias': True,
        'kernel': {'use': 'attention.plain:Plain'}, 'mask': {'use': 'ops.mask:Full'},
        'position': {'use': 'position.none:NoPosition'}}}"
"""

from ml_collections import ConfigDict
from saccade.experiments.sets.base import frame_classifier

SET_ATTENTION = dict(
    use='attention.set_attention:SetAttention',
    heads=4,
    norm=None,
    bias=True,
    output_bias=True,
    kernel=dict(use='attention.plain:Plain'),
    mask=dict(use='ops.mask:Full'),
    position=dict(use='position.none:NoPosition'),
)


def get_config() -> ConfigDict:
    config, context_length, classes = frame_classifier(steps=2000, context_length=10, classes=1)
    config.batch_size = 128
    config.task = dict(use='task.absolute_regression:AbsoluteRegression')
    config.baseline = dict(use='task.absolute_regression:median')
    config.data = dict(use='data.synthetic.largest:LargestNumber', context_length=context_length)
    config.model.layers = 2
    config.model.norm = dict(use='norm.none:NoNorm')
    config.model.block = dict(
        use='block.no_residual:NoResidual', norm=config.model.norm, mixer=dict(SET_ATTENTION), feedforward=None
    )
    config.model.heads = dict(
        pooled=dict(use='head.attention_pooled:AttentionPooled', mixer=dict(SET_ATTENTION), queries=1, classes=classes)
    )
    return config
