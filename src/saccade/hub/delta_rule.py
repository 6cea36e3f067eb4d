# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of decoders with a short convolution: with layers of the delta rule, Qwen3-Next and Kimi Linear; and Mamba-2.

In transformers the queries of the delta rule are divided by the root of their width. Ours are not, and the norm of each
head that follows has an epsilon that is larger by the width instead.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from saccade.hub.encoder import MIXER
from saccade.hub.family import Order, Shapes, Weight
from saccade.hub.setting import read
from saccade.hub.template import Activation, Config, Free, Leaf, Place, Setting

_OF_DELTA = f'{MIXER}/log_rate'


class _Epsilon(Leaf):
    """Epsilon of the norm of each head."""

    def __init__(self, width: Setting, usual: float) -> None:
        self.width, self.usual = width, usual

    def read(self, config: Config) -> float:
        """Return theirs times the width."""
        return read(config, 'rms_norm_eps', float, self.usual) * self.width.read(config)

    def write(self, value: float, place: Place) -> dict[str, Any]:
        """Return the setting."""
        return {'rms_norm_eps': lambda settings: float(f'{value / settings[self.width.key]:.12g}')}


def delta(use: str, width: Setting, kernel: Setting, epsilon: float, **others: Any) -> dict[str, Any]:
    """Template of a mixer of the delta rule.

    Args:
        width: width of a key.
        kernel: tokens that a convolution reads.
        epsilon: of the norms, where config.json has none.
        others: fields that differ.
    """
    return {
        'use': use,
        'head_width': width,
        'chunk': Free(64),
        'dropout': Free(0.0),
        'activation': Activation('hidden_act', 'silu'),
        'convolution': convolution(kernel),
        'head_norm': {'use': 'norm.rms:RMSNorm', 'epsilon': _Epsilon(width, epsilon)},
        **others,
    }


def convolution(size: Setting, bias: Any = False) -> dict[str, Any]:
    """Template of a convolution of each channel over tokens. Args: size, number of tokens; bias, whether it has one."""
    return {'use': 'recurrent.mixer.convolution:Convolution', 'size': size, 'depthwise': True, 'bias': bias}


def decaying(theirs: str, order: Order | None = None) -> tuple[Weight, ...]:
    """Return the weights of convolution, steps, decays and output, whose names Gated DeltaNet has from Mamba-2.

    Args:
        theirs: their name of the mixer, in a layer.
        order: of the channels of the convolution.
    """
    stem = f'layers.*.{theirs}'
    return (
        Weight(f'{stem}.conv1d.weight', 'C 1 M -> M C', (f'{MIXER}/convolution/output',), order=order),
        Weight(f'{stem}.dt_bias', 'N -> N', (f'{MIXER}/step_bias',)),
        Weight(f'{stem}.A_log', 'N -> N', (f'{MIXER}/log_rate',)),
        Weight(f'{stem}.out_proj.weight', 'D (N V) -> N V D', (f'{MIXER}/output',)),
    )


def hybrid(model: Iterable[Weight], delta: Iterable[Weight]) -> tuple[Weight, ...]:
    """Return the weights of a model with layers of two kinds.

    Args:
        model: of the model where all layers attend. A mixer's with `without` are in layers of the delta rule too.
        delta: of the mixers of the delta rule.
    """

    def attending(weight: Weight) -> Weight:
        of_mixer = weight.ours[0].startswith(f'{MIXER}/')
        return replace(weight, without=weight.without or _OF_DELTA) if of_mixer else weight

    return (*map(attending, model), *(replace(weight, needs=_OF_DELTA) for weight in delta))


def by_group(counted: str, *names: str) -> Order:
    """Return the order of the rows of a tensor that has, a group after another, the rows of several parameters.

    Args:
        counted: name of the parameter whose axis before the last counts the groups.
        names: of these parameters.
    """

    def order(shapes: Shapes, path: str) -> np.ndarray:
        stem = path.rpartition('/')[0]
        groups = shapes[f'{stem}/{counted}'][-2]
        # The first axes are of layers and of the inputs.
        sizes = [math.prod(shapes[f'{stem}/{name}'][2:]) // groups for name in names]
        rows = np.arange(groups * sum(sizes)).reshape(groups, -1)
        return np.concatenate([part.ravel() for part in np.split(rows, np.cumsum(sizes)[:-1], axis=1)])

    return order


def interleaved(theirs: str, counted: str, layouts: Mapping[str, str]) -> Weight:
    """Return the weight of a tensor with rows of several parameters, as `by_group` says. Args: layouts, by name."""
    ours = tuple(f'{MIXER}/{name}' for name in layouts)
    return Weight(f'layers.*.{theirs}.weight', tuple(layouts.values()), ours, order=by_group(counted, *layouts))
