# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Connected or not: TokenGT on regular graphs, of which only the structure says which class they are of.

python launch/train.py --config=experiments/graphs/connected.py --workdir=runs/graphs
python launch/evaluate.py --workdir=runs/graphs
"""

from ml_collections import ConfigDict
from saccade.experiments.sets.base import frame_classifier


def get_config() -> ConfigDict:
    config, context_length, _ = frame_classifier(steps=200, context_length=128, classes=2)
    config.task.augment = [dict(use='augment.sign_flip:SignFlip')]
    config.data = dict(
        use='data.synthetic.graphs:RegularGraphs',
        context_length=context_length,
        identifiers=dict(use='data.graph.laplacian:Laplacian', count=8),
    )
    return config
