# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The task of one_to_one.py with attention only: cross-attention is the only exchange between tokens.

    python launch/train.py --config=experiments/translation/attention_only.py --workdir=runs/attention_only
    python launch/decompose.py --workdir=runs/attention_only --out=report.html

The "AO" of Aitken et al. 2021, https://arxiv.org/abs/2110.15253: positions are added to the embedded words, and both
sides are feed-forward. Ours is a Transformer layer with one head, where a convolution over one token replaces
self-attention; unlike the paper's, it has residual connections and projections of queries, keys and values.
"""

from ml_collections import ConfigDict
from saccade.experiments.translation import one_to_one
from saccade.experiments.translation.base import NO_NORM, transformer


def get_config() -> ConfigDict:
    config = one_to_one.get_config()
    each_alone = dict(use='recurrent.mixer.convolution:Convolution', size=1, depthwise=False)
    model = transformer(
        vocabulary=config.model.get_ref('vocabulary'),
        context_length=config.data.get_ref('context_length'),
        source_context_length=config.data.get_ref('source_context_length'),
        width=128,
        heads=1,
        layers=1,
        dropout=0.0,
        pre_norm=True,
    )
    for tower in (model['encoder'], model['decoder']):
        tower['norm'] = NO_NORM
        tower['block'] |= dict(norm=NO_NORM, mixer=each_alone)
    config.model = model
    return config
