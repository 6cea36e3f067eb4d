# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Connectivity of regular graphs, which differ only in structure, with TokenGT.

    python launch/train.py --config=experiments/graphs/connected.py --workdir=runs/graphs
    python launch/evaluate.py --workdir=runs/graphs

Kim et al. 2022, "Pure Transformers are Powerful Graph Learners", https://arxiv.org/abs/2207.02505. The paper classifies
a graph token; here the mean over all tokens is classified. Nothing is downloaded: the graphs are generated. About a
minute on two cores.

Accuracy on 500 graphs, half of them connected:

    1.000   Laplacian eigenvectors, as here
    0.998   random walks: --config.data.identifiers="{'use': 'data.graph.random_walk:RandomWalk', 'count': 16}"
    0.500   no identifiers: --config.data.identifiers=None

Flipped signs of the eigenvectors change the prediction for 1 graph in 1,500; without random signs in training
(--config.task.augment="[]"), for 1 in 50.
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
