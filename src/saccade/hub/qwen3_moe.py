# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Qwen 3 MoE: Qwen 3 with a mixture of experts in some layers, or in all.

Yang et al. 2025, "Qwen3 Technical Report", https://arxiv.org/abs/2505.09388; names and settings are as in
`Qwen3MoeForCausalLM` in transformers.
"""

from collections.abc import Sequence
from typing import Any

from saccade.hub.experts import mixture, weights
from saccade.hub.keys import Keys
from saccade.hub.layer_kinds import depth, layers
from saccade.hub.llama import NORM, QUERY_KEY_NORMS, WEIGHTS, family, template
from saccade.hub.mistral import WINDOW
from saccade.hub.setting import read
from saccade.hub.template import Both, Config, Setting

_BIAS = Setting('attention_bias', bool, False)
_MODEL = template({'bias': _BIAS, 'output_bias': _BIAS, 'head_norm': NORM}, {'bias': False})
_EXPERTS = Both(
    lambda config: read(config, 'num_local_experts', int),
    lambda count: {'num_experts': count, 'num_local_experts': count},  # in version 4, and 5, of transformers
)
_MIXTURE = mixture(_EXPERTS, 'moe_intermediate_size', Setting('norm_topk_prob', bool, False))

_BLOCKS = {'sparse': {**_MODEL['block'], 'feedforward': _MIXTURE}, 'dense': _MODEL['block']}


def feedforwards(config: Config) -> list[str]:
    """Return the kind of the feed-forward layer of each layer, 'dense' or 'sparse'."""
    count, step = depth(config), read(config, 'decoder_sparse_step', int, 1)
    dense = read(config, 'mlp_only_layers', list, [])
    return ['dense' if number in dense or (number + 1) % step else 'sparse' for number in range(count)]


def dense(kinds: Sequence[str]) -> dict[str, Any]:
    """Return the settings of the kinds of feed-forward layers."""
    return {'mlp_only_layers': [number for number, kind in enumerate(kinds) if kind == 'dense']}


FAMILY = family(
    'Qwen3MoeForCausalLM',
    _MODEL | layers(_BLOCKS, feedforwards, dense),
    Keys(
        required={**WINDOW, 'use_sliding_window': False},
        # Without windows in any layer their size has no effect.
        harmless=('output_router_logits', 'router_aux_loss_coef', 'sliding_window'),
        aliases={'num_experts': 'num_local_experts'},
        defaults={
            'num_key_value_heads': 4, 'num_experts_per_tok': 8, 'num_local_experts': 128, 'moe_intermediate_size': 768,
            'intermediate_size': 6144,
        },
    ),
    like='llama',
    weights=(
        *WEIGHTS,
        *QUERY_KEY_NORMS,
        *weights('mlp', {'gate': 'gate_proj', 'up': 'up_proj', 'down': 'down_proj'}),
    ),
)  # fmt: skip
