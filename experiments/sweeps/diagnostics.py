# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Which mixer can do it, each with the learning rate that suits it?

    python launch/sweep.py --config=experiments/diagnostics/recall.py --sweep=experiments/sweeps/diagnostics.py \\
        --workdir=runs/recall --jobs=2
    python launch/report.py --workdir=runs/recall --metric=accuracy

Any diagnostic may be the config. Causal mixers of every family, as large as the config's own; four rates are tried for
each on one seed, and five seeds compared with the best. With `--budget=MINUTES` it is the largest of four sizes that
fits: all, the same with a search by halving, 1,000 steps, or 500 steps of seven mixers.
"""

from typing import Any

MIXER = 'model.block.mixer'
HEADS = 2
SHORT = dict(use='recurrent.mixer.convolution:Convolution', size=4, depthwise=True)
ATTENTION = dict(
    use='attention.multi_head:MultiHead',
    heads=HEADS,
    kernel=dict(use='attention.plain:Plain'),
    mask=dict(use='ops.mask:Causal'),
    position=dict(use='position.rotary:Rotary'),
)


RATES = dict(by={'schedule.peak': [3e-4, 1e-3, 3e-3, 1e-2]}, seeds=[100], metric='accuracy')
# Of each kind one: all tokens, few tokens, a sum, a decaying sum, an overwritten state, the same with a sign, a cell.
FEW = ('attention', 'window', 'linear', 'retention', 'delta_net', 'delta_net_negative', 'lstm')


def get_sweep() -> dict[str, Any]:
    points = [{'name': name, MIXER: mixer} for name, mixer in mixers().items()]
    few = [point for point in points if point['name'] in FEW]

    def halving(*steps: int) -> dict[str, Any]:
        return RATES | dict(halving=dict(steps=[*steps]))

    return dict(
        runs=dict(list=points),
        seeds=5,
        match=dict(what='parameters', by={'model.block.feedforward.ratio': 0.01}),
        tune=RATES,
        sizes=[
            dict(name='all'),
            dict(name='halving', tune=halving(500, 1000)),
            dict(name='short', config={'steps': 1000}, tune=halving(250, 500)),
            dict(name='few', config={'steps': 500}, tune=halving(125, 250), runs=dict(list=few)),
        ],
    )


def mixers() -> dict[str, dict[str, Any]]:
    window = dict(use='ops.mask:all_of', masks=[dict(use='ops.mask:Window', left=15), dict(use='ops.mask:Causal')])
    without = dict(position=dict(use='position.none:NoPosition'))
    return dict(
        attention=ATTENTION,
        attention_without_positions=ATTENTION | without,
        window=ATTENTION | dict(mask=window),
        forgetting=ATTENTION | dict(terms=[dict(use='score.forget_gate:ForgetGate')]) | without,
        linear=ATTENTION | dict(kernel=dict(use='attention.linear:Linear')) | without,
        retention=dict(use='attention.retention:Retention', heads=HEADS),
        gated_linear=dict(use='attention.gated_linear:GatedLinear', heads=HEADS),
        hgrn2=dict(use='attention.hgrn2:HGRN2', heads=HEADS),
        mamba2=dict(use='attention.mamba2:Mamba2', heads=HEADS, convolution=SHORT),
        mlstm=dict(use='attention.mlstm:MLSTM', heads=HEADS, gate_cap=15.0),
        delta_net=dict(use='attention.delta:Delta', heads=HEADS, decay=False),
        delta_net_negative=dict(use='attention.delta:Delta', heads=HEADS, decay=False, negative_eigenvalues=True),
        gated_delta_net=dict(use='attention.delta:Delta', heads=HEADS),
        kimi_delta=dict(use='attention.kimi_delta:KimiDelta', heads=HEADS),
        delta_product=dict(use='attention.delta_product:DeltaProduct', heads=HEADS, updates=2),
        lstm=dict(use='recurrent.mixer.recurrent:Recurrent', cell=dict(use='recurrent.cell.lstm:LSTM', width=64)),
        slstm=dict(use='recurrent.mixer.recurrent:Recurrent', cell=dict(use='recurrent.cell.slstm:SLSTM', width=64)),
    )
