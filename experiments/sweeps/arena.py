# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Two factors: nine mixers, and a short convolution before the first layer.

    python launch/suite.py --suite=experiments/suites/arena.py --workdir=runs/arena --jobs=2
    python launch/sweep.py --config=experiments/diagnostics/parity.py --sweep=experiments/sweeps/arena.py \\
        --size=least --workdir=runs/parity --jobs=2

The protocol is docs/results/protocol.md. The convolution is a layer of its own, so that it is the same one for every
mixer: causal, depthwise, over 4 tokens, without a feed-forward layer. No mixer has a convolution of its own; RWKV-7
keeps its shift by one token, which is part of it. `--size=least` has three mixers, 300 steps and three seeds.
"""

from collections.abc import Sequence
from typing import Any

from saccade.experiments.sweeps.diagnostics import NORM, SHORT, mixers

MIXERS = (
    'attention',
    'window',
    'gated_linear',
    'mamba2',
    'delta_net_negative',
    'gated_delta_net',
    'delta_product',
    'rwkv7',
    'lstm',
)
# Changes to the mixers of the other diagnostics: no convolution within, and negative eigenvalues for S3.
OWN = dict(mamba2=dict(convolution=None), delta_product=dict(negative_eigenvalues=True))
FEW = ('attention', 'gated_delta_net', 'lstm')
CONVOLUTION = dict(use='block.pre_norm:PreNorm', norm=NORM, mixer=SHORT, feedforward=None)
FIRST = {'model.first_blocks': [CONVOLUTION], 'model.layers': 3}  # fields that put the convolution first
RATES = dict(by={'schedule.peak': [1e-3, 3e-3, 1e-2]}, seeds=[100, 101], extend=3)


def get_sweep() -> dict[str, Any]:
    chosen = named(MIXERS)
    convolution = [{'name': 'off'}, {'name': 'on', **FIRST}]
    return dict(
        runs=dict(product=[dict(list=chosen), dict(list=convolution)]),
        factors=['mixer', 'convolution'],
        metric='accuracy',
        baseline='attention,off',
        margin=0.05,
        seeds=5,
        match=dict(what='parameters', by={'model.block.feedforward.ratio': 0.01}),
        tune=RATES,
        sizes=[
            dict(name='all'),
            dict(
                name='least',
                config={'steps': 300},
                seeds=3,
                runs=dict(
                    product=[dict(list=[each for each in chosen if each['name'] in FEW]), dict(list=convolution)]
                ),
            ),
        ],
    )


def named(names: Sequence[str]) -> list[dict[str, Any]]:
    """Return a point for each mixer, without a convolution of its own."""
    every = mixers()
    return [{'name': name, 'model.block.mixer': every[name] | OWN.get(name, {})} for name in names]
