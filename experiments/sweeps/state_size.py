# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Two factors: five recurrent mixers, and the width of their heads, whose square is the size of the state.

    python launch/suite.py --suite=experiments/suites/state_size.py --workdir=runs/state_size --jobs=2
    python launch/sweep.py --config=experiments/diagnostics/recall.py --sweep=experiments/sweeps/state_size.py \\
        --size=least --workdir=runs/widths --jobs=2

The protocol is docs/results/protocol.md. All have a short convolution before the first layer, and equal parameters.
What decides is the effect of 32 against 8 features. `--size=least` has two mixers, 300 steps and three seeds.
"""

from typing import Any

from saccade.experiments.sweeps.arena import FIRST, named

MIXERS = ('gated_linear', 'mamba2', 'delta_net_negative', 'gated_delta_net', 'rwkv7')
WIDTHS = (8, 16, 32)  # features of a head
FEW = ('gated_linear', 'gated_delta_net')


def get_sweep() -> dict[str, Any]:
    chosen = [{**point, **FIRST} for point in named(MIXERS)]
    widths = [{'name': str(width), 'model.block.mixer.head_width': width} for width in WIDTHS]
    return dict(
        runs=dict(product=[dict(list=chosen), dict(list=widths)]),
        factors=['mixer', 'width'],
        metric='accuracy',
        seeds=5,
        match=dict(what='parameters', by={'model.block.feedforward.ratio': 0.01}),
        sizes=[
            dict(name='all'),
            dict(
                name='least',
                config={'steps': 300},
                seeds=3,
                runs=dict(product=[dict(list=[each for each in chosen if each['name'] in FEW]), dict(list=widths)]),
            ),
        ],
    )
