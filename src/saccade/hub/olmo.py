# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""OLMo: Llama with layer norms that have no parameters.

Groeneveld et al. 2024, "OLMo: Accelerating the Science of Language Models", https://arxiv.org/abs/2402.00838; names and
settings are as in `OlmoForCausalLM` in transformers.
"""

from saccade.hub.heads import SEQUENCES, of_decoder
from saccade.hub.keys import CAUSAL, Keys
from saccade.hub.llama_like import BIAS, EQUAL_HEADS, family, template

_NORM = {'use': 'norm.layer:LayerNorm', 'epsilon': 1e-5, 'scale': False, 'bias': False}
FAMILY = family(
    'OlmoForCausalLM',
    template({**EQUAL_HEADS, 'bias': BIAS, 'output_bias': BIAS}, {'bias': False}, _NORM),
    Keys(required={**CAUSAL, 'clip_qkv': None}),
    heads=of_decoder('Olmo', SEQUENCES),
    like='llama',
    tokens={'eos_token_id': 50279, 'pad_token_id': 1},
)
