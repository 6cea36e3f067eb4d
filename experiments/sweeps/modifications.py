# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sweep over older modifications of the Transformer, with equal numbers of parameters and five seeds.

    python launch/sweep.py --config=experiments/causal_lm/comparison.py --sweep=experiments/sweeps/modifications.py \
        --workdir=runs/modifications --jobs=2

Narang et al. 2021, "Do Transformer Modifications Transfer Across Implementations and Applications?",
https://arxiv.org/abs/2102.11972, found that most do not improve a language model. Synthesizers, lightweight and dynamic
convolutions and a mixture of softmaxes replace one part each; a Universal Transformer repeats one layer, with halting
or without. A variant with fewer parameters has more in its feed-forward layers.
"""

MIXER, LENGTH, HEADS = 'model.block.mixer', 64, 4
BY_POSITION = dict(
    heads=HEADS,
    kernel=dict(use='attention.plain:Plain'),
    mask=dict(use='ops.mask:Causal'),
    position=dict(use='position.none:NoPosition'),
    length=LENGTH,
)
CONVOLUTION = dict(size=15, heads=HEADS)


def get_sweep() -> dict:
    random = 'attention.random_synthesizer:RandomSynthesizer'
    variants = dict(
        transformer={},
        dense_synthesizer={MIXER: BY_POSITION | dict(use='attention.dense_synthesizer:DenseSynthesizer')},
        random_synthesizer={MIXER: BY_POSITION | dict(use=random)},
        factorised_random_synthesizer={MIXER: BY_POSITION | dict(use=random, rank=8)},
        lightweight_convolution={
            MIXER: CONVOLUTION | dict(use='recurrent.mixer.lightweight_convolution:LightweightConvolution')
        },
        dynamic_convolution={MIXER: CONVOLUTION | dict(use='recurrent.mixer.dynamic_convolution:DynamicConvolution')},
        mixture_of_softmaxes={'model.output': dict(use='head.mixture_of_softmaxes:MixtureOfSoftmaxes', count=4)},
        universal={'model.layers': 1, 'model.passes': 2},
        universal_halting={'model.layers': 1, 'model.block.use': 'block.halting:Halting', 'model.block.passes': 2},
    )
    points = [{'name': name, **fields} for name, fields in variants.items()]
    return dict(
        runs=dict(list=points), seeds=5, match=dict(what='parameters', by={'model.block.feedforward.ratio': 0.01})
    )
