# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The dates of dates.py with an encoder that chooses blocks of characters itself: Charformer, minutes on a CPU.

    python launch/train.py --config=experiments/translation/charformer.py --workdir=runs/charformer

Tay et al. 2021, "Charformer", https://arxiv.org/abs/2106.12672. The layers of the encoder read half as many places as
there are characters.
"""

from ml_collections import ConfigDict
from saccade.experiments.translation import dates


def get_config() -> ConfigDict:
    config = dates.get_config()
    config.model.encoder.embed = dict(
        use='embed.gradient_based_subword:GradientBasedSubword', blocks=4, stride=2, calibrated=True
    )
    return config
