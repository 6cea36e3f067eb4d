# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""GPT-2: learned positions, pre-norm, GELU, biases everywhere, the output tied to the embedding.

Radford et al. 2019, "Language Models are Unsupervised Multitask Learners"; names and settings of `GPT2LMHeadModel` in
transformers. Linear kernels are stored [in, out]; queries, keys and values are one kernel.
"""

from typing import Any

from saccade.hub.family import Family, Weight
from saccade.hub.keys import CAUSAL, Keys
from saccade.hub.setting import read
from saccade.hub.template import Activation, Both, Free, HeadWidth, Inner, Kernel, MismatchError, Rate, Setting, Usual

_MIXER = 'layers/pattern_0/mixer'
_FEEDFORWARD = 'layers/pattern_0/feedforward'
_QKV = ('query', 'key', 'value')

WEIGHTS = (
    Weight('wte.weight', 'V D -> V D', ('embedding',)),
    Weight('wpe.weight', 'T D -> T D', ('position/positions',)),
    Weight('h.*.ln_1.weight', 'D -> D', (f'{_MIXER}_norm/scale',)),
    Weight('h.*.ln_1.bias', 'D -> D', (f'{_MIXER}_norm/bias',)),
    Weight(
        'h.*.attn.c_attn.weight',
        'D (part N H) -> part D N H',
        tuple(f'{_MIXER}/{name}' for name in _QKV),
    ),
    Weight('h.*.attn.c_attn.bias', '(part N H) -> part N H', tuple(f'{_MIXER}/{name}_bias' for name in _QKV)),
    Weight('h.*.attn.c_proj.weight', '(N H) D -> N H D', (f'{_MIXER}/output',)),
    Weight('h.*.attn.c_proj.bias', 'D -> D', (f'{_MIXER}/output_bias',)),
    Weight('h.*.ln_2.weight', 'D -> D', (f'{_FEEDFORWARD}_norm/scale',)),
    Weight('h.*.ln_2.bias', 'D -> D', (f'{_FEEDFORWARD}_norm/bias',)),
    Weight('h.*.mlp.c_fc.weight', 'D F -> D F', (f'{_FEEDFORWARD}/up',)),
    Weight('h.*.mlp.c_fc.bias', 'F -> F', (f'{_FEEDFORWARD}/up_bias',)),
    Weight('h.*.mlp.c_proj.weight', 'F D -> F D', (f'{_FEEDFORWARD}/down',)),
    Weight('h.*.mlp.c_proj.bias', 'D -> D', (f'{_FEEDFORWARD}/down_bias',)),
    Weight('ln_f.weight', 'D -> D', ('norm/scale',)),
    Weight('ln_f.bias', 'D -> D', ('norm/bias',)),
    Weight('lm_head.weight', 'V D -> D V', ('head',)),
)


_KEYS = Keys(
    required={**CAUSAL, 'scale_attn_by_inverse_layer_idx': False, 'add_cross_attention': False},
    harmless=(
        'reorder_and_upcast_attn',  # the same scores, computed in another order
        # Used only for multiple choice.
        'summary_activation', 'summary_first_dropout', 'summary_proj_to_labels', 'summary_type', 'summary_use_proj',
    ),
    aliases={
        'hidden_size': 'n_embd', 'max_position_embeddings': 'n_positions', 'num_attention_heads': 'n_head',
        'num_hidden_layers': 'n_layer',
    },
)  # fmt: skip


_LENGTH = Setting('n_positions', int)
_NORM = {'use': 'norm.layer:LayerNorm', 'epsilon': Setting('layer_norm_epsilon', float, 1e-5)}
_DROPOUT = Rate('resid_pdrop', default=0.1)


def _scaled(scale: float | None) -> dict[str, Any]:
    if scale not in (None, 1.0):
        raise MismatchError(f'is {scale}, which must be None or 1.0')
    return {'scale_attn_weights': scale is None}


TEMPLATE = {
    'use': 'model.decoder:Decoder',
    'vocabulary': Setting('vocab_size', int),
    'context_length': _LENGTH,
    'width': Setting('n_embd', int),
    'layers': Setting('n_layer', int),
    'tied': Setting('tie_word_embeddings', bool, True),
    'dropout': Rate('embd_pdrop', default=0.1),
    'position': {'use': 'position.learned:Learned', 'length': _LENGTH},
    'norm': _NORM,
    'run': {'use': 'model.stack:Unrolled'},
    'block': {
        'use': 'block.pre_norm:PreNorm',
        'norm': _NORM,
        'mixer': {
            'use': 'attention.multi_head:MultiHead',
            'heads': Setting('n_head', int),
            'key_value_heads': Usual(None, lambda fields: fields['heads']),
            'head_width': HeadWidth('n_embd', 'n_head'),
            'scale': Both(lambda config: None if read(config, 'scale_attn_weights', bool, True) else 1.0, _scaled),
            'bias': Free(True),
            'output_bias': Free(True),
            'dropout': _DROPOUT,
            'mask': {'use': 'ops.mask:Causal'},
            'position': {'use': 'position.none:NoPosition'},
            'kernel': Kernel('attn_pdrop', 0.1),
        },
        'feedforward': {
            'use': 'feedforward.mlp:MLP',
            'activation': Activation('activation_function', 'gelu_new'),
            'ratio': Inner('n_inner', 'n_embd', default=4),
            'bias': Free(True),
            'dropout': _DROPOUT,
        },
    },
}
FAMILY = Family(
    TEMPLATE,
    WEIGHTS,
    prefix='transformer.',
    copies={'lm_head.weight': 'wte.weight'},
    ignored=r'h\.\d+\.attn\.(masked_)?bias',  # the causal mask, and its fill value
    keys=_KEYS,
    architecture='GPT2LMHeadModel',
    outside=r'lm_head\.weight',
    tokens={'bos_token_id': 50256, 'eos_token_id': 50256},
)
