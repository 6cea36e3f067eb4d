# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Recall by one layer and by two: attention needs two, a recurrent mixer with a convolution needs one.

    python launch/sweep.py --config=experiments/diagnostics/recall_zoology.py \\
        --sweep=experiments/sweeps/recall.py --workdir=runs/recall
    python launch/report.py --workdir=runs/recall

Okpekpe, Orvieto 2025, "When recalling in-context, Transformers are not SSMs" ("Revisiting associative recall in modern
recurrent models" in its second version), https://arxiv.org/abs/2508.19029: one layer of attention does not exceed
chance, and well-tuned recurrent mixers learn. Their vocabulary has 8,192 tokens; here it has 64, with 4 pairs
in 24 tokens, where a guess among the values shown is right for a quarter.
"""

from typing import Any

HEADS = 2
MIXER = 'model.block.mixer'
SMALL = {
    'model.vocabulary': 64,
    'model.context_length': 24,
    'data.validation': 500,
    'steps': 500,
    'schedule.decay': 100,
}


def get_sweep() -> dict[str, Any]:
    convolution = dict(use='recurrent.mixer.convolution:Convolution', size=4, depthwise=True)
    delta = dict(use='attention.delta:Delta', heads=HEADS)
    points = [
        {'name': 'attention_1', 'model.layers': 1},
        {'name': 'attention_2'},  # the config's own number of layers
        {'name': 'gated_delta_net_1', 'model.layers': 1, MIXER: {**delta, 'convolution': convolution}},
        {'name': 'gated_delta_net_1_without_convolution', 'model.layers': 1, MIXER: delta},
    ]
    return dict(runs=dict(list=[{**SMALL, **point} for point in points]), seeds=5, metric='accuracy')
