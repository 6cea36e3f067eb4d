# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Recall by one layer of attention, with a short convolution as a layer before it and without.

    python launch/sweep.py --config=experiments/diagnostics/recall_based.py \\
        --sweep=experiments/sweeps/convolution_first.py --workdir=runs/convolution_first --jobs=2

Arora et al. 2024, figure 2, https://arxiv.org/abs/2402.18668, have the convolution in their attention baseline, which
solves 4 pairs of 8,192 tokens in 64.
"""

from typing import Any

from saccade.experiments.diagnostics.recall_zoology import get_config as layers_of_attention


def get_sweep() -> dict[str, Any]:
    alone = {'model.block': layers_of_attention().model.block.to_dict(), 'model.layers': 1}
    return dict(runs=dict(list=[{'name': 'with'}, {'name': 'without', **alone}]), seeds=5, metric='accuracy')
