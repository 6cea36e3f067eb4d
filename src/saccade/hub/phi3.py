# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Phi-3: Llama without biases; one tensor holds queries, keys and values, another both maps of the feed-forward layer.

Abdin et al. 2024, "Phi-3 Technical Report", https://arxiv.org/abs/2404.14219; names and settings are as in
`Phi3ForCausalLM` in transformers. Positions that are scaled by LongRoPE, or that rotate a share, are not supported.
"""

from saccade.hub.encoder import GATED, QKV
from saccade.hub.family import Weight, instead
from saccade.hub.heads import SEQUENCES, TOKENS, of_decoder
from saccade.hub.keys import Keys
from saccade.hub.llama_like import EQUAL_HEADS, NO_BIAS, WEIGHTS, family, template
from saccade.hub.template import Rate
from saccade.hub.windows import WINDOW, SlidingWindow

_FUSED = (
    Weight('layers.*.self_attn.qkv_proj.weight', ('(N H) D -> D N H', *2 * ('(K H) D -> D K H',)), QKV),
    Weight('layers.*.mlp.gate_up_proj.weight', '(part F) D -> part D F', GATED),
)

FAMILY = family(
    'Phi3ForCausalLM',
    template({**NO_BIAS, **EQUAL_HEADS, 'mask': SlidingWindow()}, {'bias': False}, dropout=Rate('resid_pdrop')),
    Keys(
        required={**WINDOW, 'partial_rotary_factor': 1.0},
        harmless=('embd_pdrop', 'original_max_position_embeddings'),
        defaults={'rms_norm_eps': 1e-5, 'resid_pdrop': 0.0},
    ),
    heads=of_decoder('Phi3', SEQUENCES, TOKENS),
    like='llama',
    weights=instead(WEIGHTS, *_FUSED),
    tokens={'bos_token_id': 1, 'eos_token_id': 32000, 'pad_token_id': 32000},
)
