# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""How many tokens should be masked?

    python launch/sweep.py --config=experiments/masked_lm/quickstart.py --sweep=experiments/sweeps/masking_rate.py \
        --workdir=runs/masking_rate --jobs=2

BERT masks 15% of them; Wettig et al. 2023, "Should You Mask 15% in Masked Language Modeling?", find 40% better for
large models, https://arxiv.org/abs/2202.08005. More masks are more to learn from in a row, and less to tell it from.
Each run is measured at its own rate, and few masks are easier than many: so compare the accuracy of the pairs
(`--metric=pair_accuracy`), or what is fine-tuned from the runs, and not their losses.
"""


def get_sweep() -> dict:
    return dict(runs=dict(grid={'task.share': [0.05, 0.1, 0.15, 0.2, 0.3, 0.4]}), seeds=3)
