# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A small masked diffusion language model on the Python documentation of this machine.

    python launch/train.py --config=experiments/masked_lm/diffusion_tiny.py --workdir=runs/diffusion
    python launch/generate.py --workdir=runs/diffusion --prompt="Return the" --steps=64

Sahoo et al. 2024, "Simple and Effective Masked Diffusion Language Models", https://arxiv.org/abs/2406.07524. The loss
is a bound of the negative log-likelihood per token, in nats. The encoder does not read the time.
"""

from ml_collections import ConfigDict
from saccade.experiments.masked_lm import quickstart
from saccade.experiments.masked_lm.base import MASKED


def get_config() -> ConfigDict:
    config = quickstart.get_config()
    config.task = dict(use='task.masked_diffusion:MaskedDiffusion', epsilon=1e-3)
    config.data.pairing = dict(use='data.encoder.pairing:OnePassage')
    config.model.update(types=0, heads=dict(masked=MASKED))
    config.sample = dict(use='decode.diffuse:Diffused', prompt='Return the', tokens=24, steps=64)
    config.baseline = None
    return config
