# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Qwen 2 and 2.5: Llama with biases of queries, keys and values.

Yang et al. 2024, "Qwen2 Technical Report", https://arxiv.org/abs/2407.10671; names and settings are as in
`Qwen2ForCausalLM` in transformers.
"""

from saccade.hub.llama_like import family, template
from saccade.hub.windows import NO_WINDOWS, FullLayers

FAMILY = family(
    'Qwen2ForCausalLM',
    template({'bias': True, 'output_bias': False, 'mask': FullLayers()}, {'bias': False}),
    NO_WINDOWS,
    like='llama',
)
