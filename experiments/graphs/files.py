# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Classification of your own graphs: TokenGT on a file of JSON lines, one object per graph.

    {"nodes": ["C", "C", "O"], "edges": [[0, 1, "single"], [1, 2, "double"]], "label": "toxic"}

    python launch/train.py --config=experiments/graphs/files.py --workdir=runs/molecules \\
        --config.data.path=FILE.jsonl --config.data.classes=2 --config.data.node_features=3 --config.data.edge_types=2

    python launch/predict.py --workdir=runs/molecules --file=NEW.jsonl

A node is the name of its type, or a list of features; `node_features` is the number of types or features. A
number that does not match the file raises an error with the right one. A fifth of each class is held out. The 1,000
steps take about five minutes on two cores.
"""

from ml_collections import ConfigDict
from saccade.experiments.sets.base import frame_classifier


def get_config() -> ConfigDict:
    config, context_length, classes = frame_classifier(steps=1000, context_length=128, classes=2)
    config.task.augment = [dict(use='augment.sign_flip:SignFlip')]
    config.data = dict(
        use='data.graph.files:GraphFiles',
        path='graphs.jsonl',
        context_length=context_length,
        classes=classes,
        node_features=1,
        edge_types=0,
        directed=False,
        validation=0.2,
        identifiers=dict(use='data.graph.laplacian:Laplacian', count=8),
    )
    return config
