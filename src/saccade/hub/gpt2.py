# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""GPT-2: learned positions, pre-norm with layer norms, GELU, biases everywhere.

Radford et al. 2019, "Language Models are Unsupervised Multitask Learners"; names and settings of `GPT2LMHeadModel` in
transformers. Linear kernels are stored [in, out]; queries, keys and values are one kernel.
"""

from typing import Any

from saccade.hub.causal import family, parts, template
from saccade.hub.encoder import FEEDFORWARD, MIXER, QKV, Words, affine, fused, norm
from saccade.hub.family import Weight
from saccade.hub.heads import of_decoder
from saccade.hub.keys import CAUSAL, Keys
from saccade.hub.setting import read
from saccade.hub.template import Both, Free, MismatchError, Rate, Setting

_WORDS = Words(
    'n_positions', 'n_embd', 'n_layer', 'n_head', 'n_inner', 'activation_function', 'resid_pdrop', 'attn_pdrop'
)
_NORM = {'use': 'norm.layer:LayerNorm', 'epsilon': Setting('layer_norm_epsilon', float, 1e-5)}


def _scaled(scale: float | None) -> dict[str, Any]:
    if scale not in (None, 1.0):
        raise MismatchError(f'is {scale}, which must be None or 1.0')
    return {'scale_attn_weights': scale is None}


_SCALE = Both(lambda config: None if read(config, 'scale_attn_weights', bool, True) else 1.0, _scaled)

FAMILY = family(
    template(
        _NORM,
        {'use': 'block.pre_norm:PreNorm', **parts(_WORDS, _NORM, Free(True), scale=_SCALE)},
        _WORDS,
        tied=Setting('tie_word_embeddings', bool, True),
        dropout=Rate('embd_pdrop', default=0.1),
        position={'use': 'position.learned:Learned', 'length': Setting('n_positions', int)},
    ),
    (
        Weight('wte.weight', 'V D -> V D', ('embedding',)),
        Weight('wpe.weight', 'T D -> T D', ('position/positions',)),
        *norm('h.*.ln_1', f'{MIXER}_norm'),
        *fused('h.*.attn.c_attn', QKV, 'D (part N H) -> part D N H', '(part N H) -> part N H'),
        *affine('h.*.attn.c_proj', f'{MIXER}/output', '(N H) D -> N H D', 'D -> D'),
        *norm('h.*.ln_2', f'{FEEDFORWARD}_norm'),
        *affine('h.*.mlp.c_fc', f'{FEEDFORWARD}/up', 'D F -> D F'),
        *affine('h.*.mlp.c_proj', f'{FEEDFORWARD}/down', 'F D -> F D', 'D -> D'),
        *norm('ln_f', 'norm'),
        Weight('lm_head.weight', 'V D -> D V', ('head',)),
    ),
    prefix='transformer.',
    ignored=r'h\.\d+\.attn\.(masked_)?bias',  # the causal mask, and its fill value
    keys=Keys(
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
        defaults={'activation_function': 'gelu_new', 'resid_pdrop': 0.1, 'attn_pdrop': 0.1},
    ),
    heads=of_decoder('GPT2', tokens='classifier'),
    architecture='GPT2LMHeadModel',
    outside=r'(lm_head|score|classifier|qa_outputs)\..*',
    tokens={'bos_token_id': 50256, 'eos_token_id': 50256},
)  # fmt: skip
