# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Qwen 3: Llama with a norm of each query and key, and heads of a width of their own.

Yang et al. 2025, "Qwen3 Technical Report", https://arxiv.org/abs/2505.09388; names and settings are as in
`Qwen3ForCausalLM` in transformers.
"""

from dataclasses import replace

from saccade.hub.llama_like import BIAS, NORM, QUERY_KEY_NORMS, WEIGHTS, family, template
from saccade.hub.windows import NO_WINDOWS, FullLayers

FAMILY = family(
    'Qwen3ForCausalLM',
    template({'bias': BIAS, 'output_bias': BIAS, 'head_norm': NORM, 'mask': FullLayers()}, {'bias': False}),
    replace(NO_WINDOWS, defaults={'head_dim': 128, 'num_key_value_heads': 32}),
    like='llama',
    weights=(*WEIGHTS, *QUERY_KEY_NORMS),
)
