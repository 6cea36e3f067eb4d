# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The colour of a point of a set: an encoder without positions, to which a set is the same in every order.

python launch/train.py --config=experiments/sets/opposites.py --workdir=runs/sets
"""

from ml_collections import ConfigDict
from saccade.experiments.sets.base import frame_classifier


def get_config() -> ConfigDict:
    config, context_length, _ = frame_classifier(steps=400, context_length=16, classes=4)
    config.data = dict(
        use='data.synthetic.sets:ColouredPoints',
        context_length=context_length,
        fewest=8,
        dimensions=6,
    )
    return config
