# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Mistral: Llama with a window of attention, and without biases.

Jiang et al. 2023, "Mistral 7B", https://arxiv.org/abs/2310.06825; names and settings are as in
`MistralForCausalLM` in transformers.
"""

from saccade.hub.heads import of_decoder
from saccade.hub.keys import Keys
from saccade.hub.llama_like import NO_BIAS, family, template
from saccade.hub.windows import WINDOW, SlidingWindow

FAMILY = family(
    'MistralForCausalLM',
    template({**NO_BIAS, 'mask': SlidingWindow()}, {'bias': False}),
    Keys(
        required=WINDOW,
        defaults={'num_key_value_heads': 8, 'sliding_window': 4096},
        nullable=('sliding_window',),
    ),
    heads=of_decoder('Mistral', spans=''),
    like='llama',
    tokens={'bos_token_id': 1, 'eos_token_id': 2},
)
