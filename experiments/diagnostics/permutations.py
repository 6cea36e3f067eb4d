# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Running products of permutations of three elements: the word problem of S3.

    python launch/train.py --config=experiments/diagnostics/permutations.py --workdir=runs/permutations
    python launch/train.py --config=experiments/diagnostics/permutations.py --workdir=runs/one_update \\
        --config.model.block.mixer.updates=1

Siems et al. 2025, "DeltaProduct", section 5, https://arxiv.org/abs/2502.10297: one layer with two updates per token can
represent any permutation of three elements, with one update it cannot. They train on 128 tokens, 4,900 steps of 2,048
rows, 8 heads of 32, and add a start token, which S3 does not need
(`tests/attention/test_delta_product_permutations.py`). As in the paper, there is no convolution, no gate and no decay.
`--config.data.generator.group.degree=5` with a vocabulary of 120 is S5.
"""

from ml_collections import ConfigDict
from saccade.experiments.diagnostics.base import diagnostic


def get_config() -> ConfigDict:
    group = dict(use='data.diagnostic.word_problem:symmetric', degree=3)
    generator = dict(use='data.diagnostic.word_problem:WordProblem', group=group)
    mixer = dict(use='attention.delta_product:DeltaProduct', heads=8, updates=2, decay=False, negative_eigenvalues=True)

    config = diagnostic(generator, steps=450, context_length=16, vocabulary=6, mixer=mixer)
    config.batch_size = 128
    config.optimizer.weight_decay = 0.0
    config.schedule = dict(use='train.schedule:WarmupStableDecay', peak=5e-3, floor=0.0, warmup=50, decay=100)
    config.data.validation = 200
    config.model.layers = 1
    config.eval_lengths = [32, 64, 128]
    return config
