# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Connected or not: TokenGT on regular graphs, of which only the structure says which class they are of.

    python launch/train.py --config=experiments/graphs/connected.py --workdir=runs/graphs
    python launch/evaluate.py --workdir=runs/graphs

Kim et al. 2022, "Pure Transformers are Powerful Graph Learners", https://arxiv.org/abs/2207.02505. There a token of its
own is classified; here the mean of all is. Nothing is downloaded: the graphs are drawn. About a minute on two cores.

Accuracy on 500 graphs, of which half are connected:

    1.000   Laplacian eigenvectors, as here
    0.998   random walks: --config.data.identifiers="{'use': 'data.graph.random_walk:RandomWalk', 'count': 16}"
    0.500   no identifiers: --config.data.identifiers=None

Other signs of the eigenvectors change the class of 1 graph in 1,500; without the random signs in training
(--config.task.augment="[]"), of 1 in 50.
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
