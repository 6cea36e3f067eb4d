# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sweep over three mixers: softmax attention, forgetting attention, and a recurrent state without softmax.

    python launch/sweep.py --config=experiments/causal_lm/quickstart.py --sweep=experiments/sweeps/three.py \\
        --workdir=runs/three --jobs=2
    python launch/report.py --workdir=runs/three

Each has two layers, 200 training steps, three seeds, and equal numbers of parameters, to 1%.
"""

from typing import Any

MIXER = 'model.block.mixer'
NONE = dict(use='position.none:NoPosition')


def get_sweep() -> dict[str, Any]:
    attention = dict(
        use='attention.multi_head:MultiHead',
        heads=6,
        kernel=dict(use='attention.plain:Plain'),
        mask=dict(use='ops.mask:Causal'),
        position=dict(use='position.rotary:Rotary'),
    )
    variants = dict(
        attention=attention,
        forgetting=attention | dict(terms=[dict(use='score.forget_gate:ForgetGate')], position=NONE),
        gated_delta=dict(use='attention.delta:Delta', heads=6),
    )
    points = [{'name': name, MIXER: mixer, 'model.layers': 2, 'steps': 200} for name, mixer in variants.items()]
    return dict(
        runs=dict(list=points), seeds=3, match=dict(what='parameters', by={'model.block.feedforward.ratio': 0.01})
    )
