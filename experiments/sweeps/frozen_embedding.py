# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Language models with a trained embedding, a frozen random one, and one-hot tokens.

    python launch/sweep.py --config=experiments/causal_lm/comparison.py \\
        --sweep=experiments/sweeps/frozen_embedding.py --workdir=runs/frozen_embedding
    python launch/report.py --workdir=runs/frozen_embedding

The output projection is not tied, so that it is trained in each. One-hot tokens need a width of at least the
vocabulary: 264 features for 257 bytes. embeddings.py has the same on classification, from a pretrained embedding too.
"""

from typing import Any

FROZEN = dict(use='train.rates:Frozen', match='^embedding$')
SMALL = {'model.width': 264, 'model.tied': False, 'steps': 200, 'batch_size': 8, 'eval_every': 200}


def get_sweep() -> dict[str, Any]:
    variants = dict(
        learned={},
        frozen_random={'optimizer.rates': FROZEN},
        one_hot={'optimizer.rates': FROZEN, 'model.embedding_init': dict(use='ops.embedding:one_hot')},
    )
    return dict(runs=dict(list=[{'name': name, **SMALL, **fields} for name, fields in variants.items()]), seeds=5)
