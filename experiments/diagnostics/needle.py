# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Needle in a haystack: at the end of a row, recall the token that followed an earlier occurrence of the last token.

    python launch/train.py --config=experiments/diagnostics/needle.py --workdir=runs/needle
    python launch/evaluate.py --workdir=runs/needle --config.data.generator.depth=0.25 --length=256

Training has 64 tokens, with the needle anywhere; evaluation has any depth, from 0 at the beginning to 1, and any
length. The task is the induction heads of Gu, Dao 2023, "Mamba", section 4.1.2, https://arxiv.org/abs/2312.00752.
"""

from ml_collections import ConfigDict
from saccade.experiments.diagnostics.base import diagnostic


def get_config() -> ConfigDict:
    generator = dict(use='data.diagnostic.copying:InductionHeads', symbols=15, depth=None)
    short = dict(use='recurrent.mixer.convolution:Convolution', size=4, depthwise=True)
    mixer = dict(use='attention.delta:Delta', heads=2, convolution=short)

    config = diagnostic(generator, steps=1000, context_length=64, vocabulary=16, mixer=mixer)
    config.schedule.peak = 3e-3
    config.eval_lengths = [128, 256]
    return config
