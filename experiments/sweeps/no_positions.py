# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Attention without positions and with rotary ones, on rows longer than in training.

    python launch/sweep.py --config=experiments/diagnostics/recall.py --sweep=experiments/sweeps/no_positions.py \\
        --workdir=runs/no_positions --jobs=2

Kazemnejad et al. 2023, "The Impact of Positional Encoding on Length Generalization in Transformers",
https://arxiv.org/abs/2305.19466: without positions causal attention generalises better. The task is the needle of
suites/arena.py: the token after the first occurrence of the marker, trained on 48 tokens.
"""

from typing import Any

from saccade.experiments.suites.arena import get_suite
from saccade.experiments.sweeps.diagnostics import MIXER, mixers


def get_sweep() -> dict[str, Any]:
    every, shared = mixers(), {**get_suite()['induction']['fields'], 'schedule.peak': 3e-3}
    variants = dict(none='attention_without_positions', rotary='attention')
    points = [{'name': name, MIXER: every[mixer], **shared} for name, mixer in variants.items()]
    return dict(runs=dict(list=points), seeds=5, metric='accuracy')
