# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Mixtral: Mistral with a mixture of experts in each layer.

Jiang et al. 2024, "Mixtral of Experts", https://arxiv.org/abs/2401.04088; names and settings are as in
`MixtralForCausalLM` in transformers.
"""

from saccade.hub.experts import NUMBERED, mixture, weights
from saccade.hub.heads import of_decoder
from saccade.hub.keys import Keys
from saccade.hub.llama_like import NO_BIAS, WEIGHTS, family, template
from saccade.hub.rope import Rope
from saccade.hub.template import Setting
from saccade.hub.windows import WINDOW, SlidingWindow

_MODEL = template({**NO_BIAS, 'mask': SlidingWindow(), 'position': Rope(usual=1e6).template()}, {})
_MIXTURE = mixture(Setting('num_local_experts', int), 'intermediate_size', True)

FAMILY = family(
    'MixtralForCausalLM',
    _MODEL | {'block': {**_MODEL['block'], 'feedforward': _MIXTURE}},
    Keys(
        required=WINDOW,
        harmless=('output_router_logits', 'router_aux_loss_coef', 'router_jitter_noise'),
        aliases={'num_experts': 'num_local_experts'},
        defaults={'num_key_value_heads': 8, 'num_experts_per_tok': 2, 'num_local_experts': 8, 'rms_norm_eps': 1e-5},
    ),
    heads=of_decoder('Mixtral', spans=''),
    like='llama',
    weights=(*WEIGHTS, *weights(*NUMBERED)),
    tokens={'bos_token_id': 1, 'eos_token_id': 2},
)
