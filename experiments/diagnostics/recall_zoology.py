# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Multi-query associative recall in Zoology's smallest setting, which attention solves in the paper.

    python launch/train.py --config=experiments/diagnostics/recall_zoology.py --workdir=runs/recall_zoology

Arora et al. 2023, "Zoology", section 4 and figure 2, https://arxiv.org/abs/2312.04927: 4 pairs of 8,192 tokens in 64,
two layers of attention without feed-forward layers, one head, width 64, learned positions, a tied embedding. They train
for 12,500 steps of 512 rows with dropout of 0.1 and the best of four learning rates; here training has 5,000 steps of
64 rows at one rate, without dropout. Embeddings start at norm 1 here and are scaled up before the first layer; in the
paper they start at 0.16. Accuracy stays at 0.46, where the last pair is known and the others are guessed, until step
2,000 to 3,500, and is above 0.97 500 steps later (`experiments/RESULTS.md`).
"""

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.diagnostics.base import ROTARY_ATTENTION, diagnostic


def get_config() -> ConfigDict:
    vocabulary = FieldReference(8192)
    generator = dict(use='data.diagnostic.recall:MultiQueryRecall', vocabulary=vocabulary, pairs=4)
    attention = ROTARY_ATTENTION | dict(heads=1, position=dict(use='position.none:NoPosition'))

    config = diagnostic(generator, steps=5000, context_length=64, vocabulary=vocabulary, mixer=attention)
    config.task.answers = 4
    config.data.train = 256_000
    config.optimizer.weight_decay = 0.0
    config.schedule = dict(use='train.schedule:WarmupStableDecay', peak=4e-3, floor=0.0, warmup=50, decay=800)
    config.model.position = dict(use='position.learned:Learned', length=config.model.get_ref('context_length'))
    config.model.block.feedforward = None
    config.model.tied = True
    config.model.embedding_init = dict(use='jax.nn.initializers:normal', stddev=0.125)
    config.model.embedding_scale = 8.0
    config.model.logit_scale = 2.0
    return config
