# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Llama: rotary positions, pre-norm with RMSNorm, SwiGLU, grouped-query attention, no biases.

Touvron et al. 2023, https://arxiv.org/abs/2302.13971, and its successors up to 3.3; names and settings of
`LlamaForCausalLM` in transformers, version 4 or 5.
"""

from saccade.hub.keys import CAUSAL, Keys
from saccade.hub.llama_like import BIAS, family, template
from saccade.hub.template import Setting

FAMILY = family(
    'LlamaForCausalLM',
    template({'bias': BIAS, 'output_bias': BIAS}, {'bias': Setting('mlp_bias', bool, False)}),
    Keys(
        required={**CAUSAL, 'partial_rotary_factor': 1.0},
        harmless=('pretraining_tp',),  # computes a product in slices, with the same result
    ),
    tokens={'bos_token_id': 1, 'eos_token_id': 2},
)
