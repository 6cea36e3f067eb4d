# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""nanoGPT's model as one of ours: its spec, and where each tensor goes. Its linear maps are stored [out, in]."""

from saccade.hub.family import Family, Weight
from saccade.hub.keys import Keys
from saccade.hub.template import Both

_MIXER = 'layers/*/mixer'
_FEEDFORWARD = 'layers/*/feedforward'

WEIGHTS = (
    Weight('wte.weight', 'V D -> V D', ('embedding',)),
    Weight('wpe.weight', 'T D -> T D', ('position/positions',)),
    Weight('h.*.ln_1.weight', 'D -> D', (f'{_MIXER}_norm/scale',)),
    Weight(
        'h.*.attn.c_attn.weight',
        '(part N H) D -> part D N H',
        tuple(f'{_MIXER}/{name}' for name in ('query', 'key', 'value')),
    ),
    Weight('h.*.attn.c_proj.weight', 'D (N H) -> N H D', (f'{_MIXER}/output',)),
    Weight('h.*.ln_2.weight', 'D -> D', (f'{_FEEDFORWARD}_norm/scale',)),
    Weight('h.*.mlp.c_fc.weight', 'F D -> D F', (f'{_FEEDFORWARD}/up',)),
    Weight('h.*.mlp.c_proj.weight', 'D F -> F D', (f'{_FEEDFORWARD}/down',)),
    Weight('ln_f.weight', 'D -> D', ('norm/scale',)),
)
RUNS = {'unrolled': 'model.stack:Unrolled', 'scanned': 'model.stack:Scanned'}


def _field(name: str) -> Both:
    """The field of a `Size` of this name."""
    return Both(lambda config: config[name], lambda value: {name: value})


NORM = {'use': 'norm.layer:LayerNorm', 'bias': False}
TEMPLATE = {
    'use': 'model.decoder:Decoder',
    'vocabulary': _field('vocabulary'),
    'context_length': _field('context_length'),
    'width': _field('width'),
    'layers': _field('layers'),
    'tied': True,
    'position': {'use': 'position.learned:Learned', 'length': _field('context_length')},
    'norm': NORM,
    'run': Both(lambda config: {'use': RUNS[config['run']]}, lambda run: {}),
    'block': {
        'use': 'block.pre_norm:PreNorm',
        'norm': NORM,
        'mixer': {
            'use': 'attention.multi_head:MultiHead',
            'heads': _field('heads'),
            'mask': {'use': 'ops.mask:Causal'},
            'position': {'use': 'position.none:NoPosition'},
            'fused': True,
            'kernel': {'use': 'attention.plain:Plain', 'query_chunks': _field('chunks')},
        },
        'feedforward': {
            'use': 'feedforward.mlp:MLP',
            'activation': {'use': 'ops.activation:gelu'},
            'bias': False,
        },
    },
}

FAMILY = Family(TEMPLATE, WEIGHTS, prefix='', copies={}, ignored='', keys=Keys())
