# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Gemma: Llama with zero-centred norms, a gated GELU, and embeddings times the root of the width.

Gemma Team 2024, "Gemma: Open Models Based on Gemini Research and Technology", https://arxiv.org/abs/2403.08295; names
and settings are as in `GemmaForCausalLM` in transformers.
"""

from saccade.hub.heads import SEQUENCES, TOKENS, of_decoder
from saccade.hub.keys import CAUSAL, Keys
from saccade.hub.llama_like import BIAS, NORM, family, template
from saccade.hub.template import Activation, RootOfWidth, Setting

FAMILY = family(
    'GemmaForCausalLM',
    template(
        {'bias': BIAS, 'output_bias': BIAS},
        {'bias': False, 'activation': Activation('hidden_act', 'gelu_pytorch_tanh', also='gelu')},
        {**NORM, 'zero_centred': True},
    )
    | {'embedding_scale': RootOfWidth('hidden_size'), 'tied': Setting('tie_word_embeddings', bool, True)},
    Keys(
        required={**CAUSAL, 'use_bidirectional_attention': None},
        defaults={'head_dim': 256, 'num_key_value_heads': 16},
    ),
    heads=of_decoder('Gemma', SEQUENCES, TOKENS),
    like='llama',
    tokens={'bos_token_id': 2, 'eos_token_id': 1, 'pad_token_id': 0},
)
