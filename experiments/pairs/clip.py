# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A small CLIP on generated shapes and their captions; nothing is downloaded.

    python launch/train.py --config=experiments/pairs/clip.py --workdir=runs/clip
    python launch/zero_shot.py --workdir=runs/clip --split=unseen
    python launch/zero_shot.py --workdir=runs/clip --image=a.png --classes="a red square,a blue circle"

1,500 steps took about 2 minutes. Means of 3 seeds, with 95% intervals: image-to-text recall at 1 among 200 captions is
90.3% (86.3 to 94.3), and 68.2% (59.7 to 76.6) for pairs of colour and shape never seen in training. Zero-shot accuracy
over the names of 24 coloured shapes is 95.3% (86.0 to 100) for single shapes, and 66.7% (27.1 to 100) for pairs of
colour and shape never seen.

captions.py takes your own images and captions.
"""

from ml_collections import ConfigDict
from saccade.experiments.pairs.dual_encoder import shapes


def get_config() -> ConfigDict:
    return shapes(dict(use='task.contrastive:Contrastive'))
