# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A small SigLIP on generated shapes: classify each pair of an image and a caption of the batch as matching or not.

    python launch/train.py --config=experiments/pairs/siglip.py --workdir=runs/siglip
    python launch/zero_shot.py --workdir=runs/siglip --split=unseen

Measured as in clip.py: recall at 1 is 87.0% (83.7 to 90.3), and 60.0% (52.2 to 67.8) for pairs never seen; zero-shot
accuracy on single shapes is 96.1% (92.0 to 100), and 67.9% (61.4 to 74.5) for pairs never seen.
"""

from ml_collections import ConfigDict
from saccade.experiments.pairs.dual_encoder import shapes


def get_config() -> ConfigDict:
    task = dict(use='task.sigmoid_contrastive:SigmoidContrastive', chunk=None)
    return shapes(task, logit_scale=10.0, logit_bias=-10.0)
