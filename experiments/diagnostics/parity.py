# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Parity of all bits so far, at each bit: trained on 3 to 40 bits, evaluated on up to 256.

    python launch/train.py --config=experiments/diagnostics/parity.py --workdir=runs/parity

Grazzi et al. 2024, "Unlocking State-Tracking in Linear RNNs Through Negative Eigenvalues",
https://arxiv.org/abs/2411.12537: DeltaNet learns it with b up to 2, and not with b up to 1:
`--config.model.block.mixer.negative_eigenvalues=False`.
"""

from ml_collections import ConfigDict
from saccade.experiments.diagnostics.base import diagnostic


def get_config() -> ConfigDict:
    generator = dict(use='data.diagnostic.word_problem:WordProblem', group=cyclic(2))
    mixer = dict(use='attention.delta:Delta', heads=2, decay=False, negative_eigenvalues=True)

    config = diagnostic(generator, steps=2000, context_length=40, shortest=3, vocabulary=2, mixer=mixer)
    config.eval_lengths = [64, 128, 256]
    return config


def cyclic(order: int) -> dict:
    return dict(use='data.diagnostic.word_problem:cyclic', order=order)
