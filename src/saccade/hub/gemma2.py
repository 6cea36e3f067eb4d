# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Gemma 2: Gemma with norms after the branches too, bounded scores and logits, and windows in every other layer.

Gemma Team 2024, "Gemma 2: Improving Open Language Models at a Practical Size", https://arxiv.org/abs/2408.00118; names
and settings are as in `Gemma2ForCausalLM` in transformers.
"""

import math
from typing import Any

from saccade.hub.family import Weight, instead
from saccade.hub.heads import SEQUENCES, TOKENS, of_decoder
from saccade.hub.keys import Keys
from saccade.hub.layer_kinds import listed, patterned
from saccade.hub.llama_like import BIAS, NORM, WEIGHTS, family, template
from saccade.hub.setting import read
from saccade.hub.template import Activation, Both, Config, MismatchError, RootOfWidth, Setting, all_fields
from saccade.hub.windows import WINDOW, SlidingWindow
from saccade.ops.term import Softcap
from saccade.types import Part

CENTRED = {**NORM, 'zero_centred': True}


def _scaled(scale: float | None) -> dict[str, Any]:
    if scale is None:
        return {'query_pre_attn_scalar': lambda settings: settings['head_dim']}
    scalar = round(scale**-2)
    if not math.isclose(scale, scalar**-0.5, rel_tol=1e-6):
        raise MismatchError(f'is {scale:g}, which must be one over the root of a whole number')
    return {'query_pre_attn_scalar': scalar}


def _bound(config: Config) -> list[dict[str, Any]]:
    cap = read(config, 'attn_logit_softcapping', float, None)
    return [] if cap is None else [{'use': 'ops.term:Softcap', 'cap': cap}]


def _capped(terms: tuple[Part, ...]) -> dict[str, Any]:
    if len(terms) > 1 or any(term.target is not Softcap for term in terms):
        raise MismatchError(
            f'are {", ".join(term.name for term in terms)}, which must be one ops.term:Softcap, or none'
        )
    return {'attn_logit_softcapping': float(all_fields(terms[0])['cap']) if terms else None}


_NORMS = {
    'input_layernorm': 'mixer_norm',
    'post_attention_layernorm': 'mixer_output_norm',
    'pre_feedforward_layernorm': 'feedforward_norm',
    'post_feedforward_layernorm': 'feedforward_output_norm',
}
SANDWICH = instead(
    WEIGHTS,
    *(Weight(f'layers.*.{theirs}.weight', 'D -> D', (f'layers/*/{ours}/scale',)) for theirs, ours in _NORMS.items()),
)


def model(**mixer: Any) -> dict[str, Any]:
    """Template of the model. Args: mixer, further fields of the mixers."""
    scale = Both(lambda config: read(config, 'query_pre_attn_scalar', int, 256) ** -0.5, _scaled)
    attention = {'bias': BIAS, 'output_bias': BIAS, 'scale': scale, **mixer}
    feedforward = {'bias': False, 'activation': Activation('hidden_activation', 'gelu_pytorch_tanh')}
    made = template(attention, feedforward, CENTRED)
    return made | {
        'block': made['block'] | {'use': 'block.sandwich:Sandwich'},
        'embedding_scale': RootOfWidth('hidden_size'),
        'tied': Setting('tie_word_embeddings', bool, True),
        'logit_cap': Setting('final_logit_softcapping', float, None, absent=lambda settings: None),
    }


_MIXERS = {'full_attention': {}, 'sliding_attention': {'mask': SlidingWindow()}}

FAMILY = family(
    'Gemma2ForCausalLM',
    patterned(model(terms=Both(_bound, _capped)), mixer=listed(_MIXERS, lambda config, number: 1 - number % 2)),
    Keys(
        required={**WINDOW, 'use_bidirectional_attention': None},
        defaults={
            'head_dim': 256, 'num_key_value_heads': 4, 'sliding_window': 4096, 'final_logit_softcapping': 30.0,
            'attn_logit_softcapping': 50.0,
        },
        nullable=('sliding_window', 'final_logit_softcapping', 'attn_logit_softcapping'),
    ),
    heads=of_decoder('Gemma2', SEQUENCES, TOKENS),
    weights=SANDWICH,
    tokens={'bos_token_id': 2, 'eos_token_id': 1, 'pad_token_id': 0},
)  # fmt: skip
