# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Qwen 3 MoE: Qwen 3 with a mixture of experts in some layers, or in all.

Yang et al. 2025, "Qwen3 Technical Report", https://arxiv.org/abs/2505.09388; names and settings are as in
`Qwen3MoeForCausalLM` in transformers.
"""

from saccade.hub.experts import mixture, sparse_or_dense, weights
from saccade.hub.keys import Keys
from saccade.hub.layer_kinds import patterned
from saccade.hub.llama_like import BIAS, NORM, QUERY_KEY_NORMS, WEIGHTS, family, template
from saccade.hub.template import Both, Setting
from saccade.hub.windows import WINDOW

_MODEL = template({'bias': BIAS, 'output_bias': BIAS, 'head_norm': NORM}, {'bias': False})
_EXPERTS = Both(Setting('num_local_experts', int).read, lambda count: {'num_experts': count})  # as published
_MIXTURE = mixture(_EXPERTS, 'moe_intermediate_size', Setting('norm_topk_prob', bool, False))

FAMILY = family(
    'Qwen3MoeForCausalLM',
    patterned(_MODEL, feedforward=sparse_or_dense(_MIXTURE)),
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
    weights=(*WEIGHTS, *QUERY_KEY_NORMS, *weights('mlp')),
)  # fmt: skip
