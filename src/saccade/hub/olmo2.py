# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""OLMo 2: Llama with norms after the branches instead of before, and RMSNorm of all queries and of all keys of a token.

OLMo Team 2024, "2 OLMo 2 Furious", https://arxiv.org/abs/2501.00656; names and settings are as in `Olmo2ForCausalLM` in
transformers.
"""

from saccade.hub.gemma2 import SANDWICH
from saccade.hub.heads import SEQUENCES, of_decoder
from saccade.hub.keys import CAUSAL, Keys
from saccade.hub.llama_like import BIAS, NORM, QUERY_KEY_NORMS, family, template

_MIXER = {'bias': BIAS, 'output_bias': BIAS, 'head_norm': NORM, 'norm_together': True}
_MODEL = template(_MIXER, {'bias': False})
_BLOCK = {'use': 'block.sandwich:Sandwich', 'norm': {'use': 'norm.none:NoNorm'}, 'output_norm': NORM}

FAMILY = family(
    'Olmo2ForCausalLM',
    _MODEL | {'block': {**_MODEL['block'], **_BLOCK}},
    Keys(required=CAUSAL, defaults={'rms_norm_eps': 1e-5}),
    heads=of_decoder('Olmo2', SEQUENCES),
    like='llama',
    weights=(*SANDWICH, *QUERY_KEY_NORMS),
    tokens={'eos_token_id': 50279, 'pad_token_id': 1},
)
