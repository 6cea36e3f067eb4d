# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Softmax attention and three mixers with a fixed-size state: gated DeltaNet, Kimi delta attention, Mamba-2.

    python launch/sweep.py --config=experiments/causal_lm/quickstart.py --sweep=experiments/sweeps/fixed_state.py \\
        --config.model.layers=2 --config.steps=200 --workdir=runs/fixed_state --jobs=1
    python launch/report.py --workdir=runs/fixed_state

Each is trained with three seeds, and has as many parameters as the config's own model, to 1%. The report shows
tokens per second, temporary bytes of a step, and bytes of the decoding state.
"""

from typing import Any

MIXER = 'model.block.mixer'
SHORT = dict(use='recurrent.mixer.convolution:Convolution', size=4, depthwise=True)


def get_sweep() -> dict[str, Any]:
    variants = dict(
        attention=dict(
            use='attention.multi_head:MultiHead',
            heads=6,
            kernel=dict(use='attention.plain:Plain'),
            mask=dict(use='ops.mask:Causal'),
            position=dict(use='position.rotary:Rotary'),
        ),
        gated_delta_net=dict(use='attention.delta:Delta', heads=6, gate=dict(use='jax.nn:silu'), convolution=SHORT),
        kimi_delta=dict(use='attention.kimi_delta:KimiDelta', heads=6, convolution=SHORT | dict(bias=False)),
        mamba2=dict(use='attention.mamba2:Mamba2', heads=6, convolution=SHORT),
    )
    points = [{'name': name, MIXER: mixer} for name, mixer in variants.items()]
    return dict(
        runs=dict(list=points), seeds=3, match=dict(what='parameters', by={'model.block.feedforward.ratio': 0.01})
    )
