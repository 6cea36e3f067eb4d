# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Mamba-2: layers of state space models alone.

Dao, Gu 2024, "Transformers are SSMs", https://arxiv.org/abs/2405.21060; names and settings of `Mamba2ForCausalLM` in
transformers. Gate, values, keys, queries and steps are one kernel; the convolution has values, keys and queries, in
ours queries first.
"""

import math
from typing import Any

import numpy as np

from saccade.hub.causal import family, template
from saccade.hub.delta_rule import convolution, decaying
from saccade.hub.encoder import MIXER
from saccade.hub.family import Shapes, Weight
from saccade.hub.keys import CAUSAL, Keys
from saccade.hub.setting import read
from saccade.hub.template import Activation, Both, Config, Free, OneOf, Setting
from saccade.types import UserError

_TRAINED_ON = 2048  # tokens, for the published models; the state has no bound
_RMS = {'use': 'norm.rms:RMSNorm', 'epsilon': Setting('layer_norm_epsilon', float, 1e-5)}
_GROUPS = Setting('n_groups', int)


def _width(config: Config) -> int:
    width, inner = read(config, 'hidden_size', int), read(config, 'num_heads', int) * read(config, 'head_dim', int)
    if width * read(config, 'expand', int) != inner:
        raise UserError(f'config.json: expand times hidden_size is {width * config["expand"]}, but heads have {inner}')
    return width


def _sizes(width: int) -> dict[str, Any]:
    def expand(settings: Config) -> float:
        inner = settings['num_heads'] * settings['head_dim']
        return inner / width if inner % width else inner // width

    return {'hidden_size': width, 'expand': expand}


def _values_last(shapes: Shapes, path: str) -> np.ndarray:
    stem = path.rpartition('/convolution/')[0]
    query, value = (math.prod(shapes[f'{stem}/{name}'][-2:]) for name in ('query', 'value'))
    values, keys, queries = np.split(np.arange(value + 2 * query), [value, value + query])
    return np.concatenate([queries, keys, values])


_BLOCK = {
    'use': 'block.pre_norm:PreNorm',
    'norm': _RMS,
    'feedforward': None,
    'mixer': {
        'use': 'attention.mamba2:Mamba2',
        'heads': Setting('num_heads', int),
        'key_heads': _GROUPS,
        'head_width': Setting('state_size', int),
        'value_width': Setting('head_dim', int),
        'chunk': Setting('chunk_size', int, 256),
        'dropout': Free(0.0),
        'activation': Activation('hidden_act', 'silu'),
        'gate': {'use': 'jax.nn:silu'},
        'convolution': convolution(Setting('conv_kernel', int, 4), Setting('use_conv_bias', bool, True)),
        'output_norm': OneOf(
            lambda config: 'one' if read(config, 'n_groups', int) == 1 else 'more',
            {'one': _RMS, 'more': {**_RMS, 'use': 'norm.group_rms:GroupRMSNorm', 'groups': _GROUPS}},
        ),
    },
}

FAMILY = family(
    template(_RMS, _BLOCK, context_length=Free(_TRAINED_ON), width=Both(_width, _sizes), dropout=Free(0.0)),
    (
        Weight('embeddings.weight', 'V D -> V D', ('embedding',)),
        Weight('layers.*.norm.weight', 'D -> D', (f'{MIXER}_norm/scale',)),
        Weight(
            'layers.*.mixer.in_proj.weight',
            ('(N V) D -> D N V', '(N V) D -> D N V', '(K H) D -> D K H', '(K H) D -> D K H', 'N D -> D N'),
            tuple(f'{MIXER}/{name}' for name in ('gate', 'value', 'key', 'query', 'step')),
        ),
        *decaying('mixer', order=_values_last),
        Weight('layers.*.mixer.conv1d.bias', 'C -> C', (f'{MIXER}/convolution/bias',), order=_values_last),
        Weight('layers.*.mixer.D', 'N -> N', (f'{MIXER}/skip',)),
        Weight('layers.*.mixer.norm.weight', 'F -> F', (f'{MIXER}/output_norm/scale',)),
        Weight('norm_f.weight', 'D -> D', ('norm/scale',)),
        Weight('lm_head.weight', 'V D -> D V', ('head',)),
    ),
    prefix='backbone.',
    keys=Keys(
        required={**CAUSAL, 'use_bias': False, 'time_step_limit': [0.0, math.inf]},
        harmless=(
            'residual_in_fp32', 'rescale_prenorm_residual',
            'time_step_floor', 'time_step_max', 'time_step_min', 'time_step_rank',
        ),
        defaults={'num_heads': 128, 'head_dim': 64, 'state_size': 128, 'expand': 2, 'n_groups': 8},
    ),
    architecture='Mamba2ForCausalLM',
    outside=r'lm_head\.weight',
    tokens={'bos_token_id': 0, 'pad_token_id': 1, 'eos_token_id': 2},
)  # fmt: skip
