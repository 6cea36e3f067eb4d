# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""An encoder that reads in both directions, and one that reads from left to right, on classification of texts.

    python launch/sweep.py --config=experiments/finetune/classify.py --sweep=experiments/sweeps/directions.py \\
        --workdir=runs/directions --config.data.path=FOLDER
    python launch/report.py --workdir=runs/directions

Both are trained from scratch with one configuration; the row is the mean over its tokens, so the last token need not
hold the text. Columns of files without a header are numbers: `--config.data.text=0 --config.data.label=1`.
"""

from typing import Any

MASK = 'model.block.mixer.mask'


def get_sweep() -> dict[str, Any]:
    masks = dict(both='ops.mask:Full', left_to_right='ops.mask:Causal')
    return dict(
        runs=dict(list=[{'name': name, MASK: dict(use=mask)} for name, mask in masks.items()]),
        seeds=5,
        metric='accuracy',
        baseline='both',
        margin=0.01,
    )
