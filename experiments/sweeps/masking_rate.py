# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sweep over the masking rate.

    python launch/sweep.py --config=experiments/masked_lm/quickstart.py --sweep=experiments/sweeps/masking_rate.py \
        --workdir=runs/masking_rate --jobs=2

BERT masks 15% of the tokens; Wettig et al. 2023, "Should You Mask 15% in Masked Language Modeling?", find 40% better
for large models, https://arxiv.org/abs/2202.08005. More masks give more targets per row, and less context for each.
Each run is evaluated at its own rate, and fewer masks are easier, so do not compare losses: compare the accuracy of the
pairs (`--metric=pair_accuracy`), or runs that are fine-tuned from these.
"""


def get_sweep() -> dict:
    return dict(runs=dict(grid={'task.share': [0.05, 0.1, 0.15, 0.2, 0.3, 0.4]}), seeds=3)
