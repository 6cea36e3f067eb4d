# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Gemma 2: Gemma with norms after the branches too, bounded scores and logits, and windows in every other layer.

Gemma Team 2024, "Gemma 2: Improving Open Language Models at a Practical Size", https://arxiv.org/abs/2408.00118; names
and settings are as in `Gemma2ForCausalLM` in transformers. Another order of windows and full layers is not supported.
"""

import math
from dataclasses import replace
from typing import Any

from saccade.hub.family import Weight
from saccade.hub.keys import Keys
from saccade.hub.llama import NORM, WEIGHTS, family, template
from saccade.hub.mistral import WINDOW, SlidingWindow
from saccade.hub.setting import read, shortened
from saccade.hub.template import Activation, Both, Config, MismatchError, RootOfWidth, Setting, all_fields
from saccade.ops.term import Softcap
from saccade.types import Part, UserError

_PATTERN = ('sliding_attention', 'full_attention')


def _layers(config: Config) -> int:
    count = read(config, 'num_hidden_layers', int)
    kinds = read(config, 'layer_types', list, None)
    if count % len(_PATTERN) or (kinds is not None and kinds != [*_PATTERN] * (count // len(_PATTERN))):
        raise UserError(
            f'config.json: layer_types is {shortened(kinds)} for {count} layers, which cannot be represented; only '
            f'{", ".join(_PATTERN)} in turn can'
        )
    return count


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


def _block(mask: Any) -> dict[str, Any]:
    bias = Setting('attention_bias', bool, False)
    scale = Both(lambda config: read(config, 'query_pre_attn_scalar', int, 256) ** -0.5, _scaled)
    mixer = {'bias': bias, 'output_bias': bias, 'mask': mask, 'scale': scale, 'terms': Both(_bound, _capped)}
    feedforward = {'bias': False, 'activation': Activation('hidden_activation', 'gelu_pytorch_tanh')}
    return template(mixer, feedforward, _NORM)['block'] | {'use': 'block.sandwich:Sandwich'}


def _of_pattern(number: int) -> list[Weight]:
    """Weights of every other layer."""
    ours = f'layers/pattern_{number}'
    norms = {
        'input_layernorm': 'mixer_norm',
        'post_attention_layernorm': 'mixer_output_norm',
        'pre_feedforward_layernorm': 'feedforward_norm',
        'post_feedforward_layernorm': 'feedforward_output_norm',
    }
    made = [Weight(f'layers.*.{name}.weight', 'D -> D', (f'{ours}/{own}/scale',)) for name, own in norms.items()]
    maps = [weight for weight in WEIGHTS if '*' in weight.theirs and 'layernorm' not in weight.theirs]
    made += [replace(each, ours=tuple(path.replace('layers/pattern_0', ours) for path in each.ours)) for each in maps]
    return [replace(weight, first=number, every=len(_PATTERN)) for weight in made]


_NORM = {**NORM, 'zero_centred': True}
FAMILY = family(
    'Gemma2ForCausalLM',
    template({}, {}, _NORM)
    | {
        'layers': Both(_layers, lambda layers: {'num_hidden_layers': layers}),
        'block': (_block(SlidingWindow()), _block({'use': 'ops.mask:Causal'})),
        'embedding_scale': RootOfWidth('hidden_size'),
        'tied': Setting('tie_word_embeddings', bool, True),
        'logit_cap': Setting('final_logit_softcapping', float, None, absent=lambda settings: None),
    },
    Keys(
        required={**WINDOW, 'use_bidirectional_attention': None},
        defaults={
            'head_dim': 256, 'num_key_value_heads': 4, 'sliding_window': 4096, 'final_logit_softcapping': 30.0,
            'attn_logit_softcapping': 50.0,
        },
        nullable=('sliding_window', 'final_logit_softcapping', 'attn_logit_softcapping'),
    ),
    like='llama',
    weights=(
        *(weight for weight in WEIGHTS if '*' not in weight.theirs),
        *_of_pattern(0),
        *_of_pattern(1),
    ),
    tokens={'bos_token_id': 2, 'eos_token_id': 1, 'pad_token_id': 0},
)  # fmt: skip
