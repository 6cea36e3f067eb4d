# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Path-star graphs: next-token training guesses the arm; written backwards, the path is learned.

    python launch/train.py --config=experiments/diagnostics/path_star.py --workdir=runs/path_star
    python launch/train.py --config=experiments/diagnostics/path_star.py --workdir=runs/path_star_backwards \\
        --config.data.generator.backwards=True

Bachmann, Nagarajan 2024, https://arxiv.org/abs/2403.06963: two arms of five nodes, of 50 names. `solved` is the share
of whole paths, as a model writes them by itself: it reads its own answers, which are right up to its first mistake.
Edges are found by two layers of attention after a convolution over four tokens, without which they take much longer.
"""

from ml_collections import ConfigDict
from saccade.experiments.diagnostics.base import diagnostic


def get_config() -> ConfigDict:
    generator = dict(use='data.diagnostic.path_star:PathStar', arms=2, path=5, nodes=50, backwards=False)

    config = diagnostic(generator, steps=1000, context_length=31, vocabulary=53)
    convolution = dict(use='recurrent.mixer.convolution:Convolution', size=4, depthwise=True)
    config.model.first_blocks = [
        dict(use='block.pre_norm:PreNorm', norm=dict(use='norm.rms:RMSNorm'), mixer=convolution, feedforward=None)
    ]
    config.model.layers = 3
    config.schedule.peak = 3e-3
    return config
