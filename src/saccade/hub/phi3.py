# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Phi-3: Llama without biases; one tensor holds queries, keys and values, another both maps of the feed-forward layer.

Abdin et al. 2024, "Phi-3 Technical Report", https://arxiv.org/abs/2404.14219; names and settings are as in
`Phi3ForCausalLM` in transformers. Positions that are scaled by LongRoPE, or that rotate a share, are not supported.
"""

from saccade.hub.family import Weight
from saccade.hub.heads import SEQUENCES, TOKENS, of_decoder
from saccade.hub.keys import Keys
from saccade.hub.llama import EQUAL_HEADS, NO_BIAS, WEIGHTS, family, template
from saccade.hub.mistral import WINDOW, SlidingWindow
from saccade.hub.template import Free, Rate

_MIXER, _FEEDFORWARD = 'layers/*/mixer', 'layers/*/feedforward'
_FUSED = (
    Weight(
        'layers.*.self_attn.qkv_proj.weight',
        ('(N H) D -> D N H', '(K H) D -> D K H', '(K H) D -> D K H'),
        tuple(f'{_MIXER}/{name}' for name in ('query', 'key', 'value')),
    ),
    Weight(
        'layers.*.mlp.gate_up_proj.weight',
        '(part F) D -> part D F',
        tuple(f'{_FEEDFORWARD}/{name}' for name in ('gate', 'up')),
    ),
)
_HELD = {path for weight in _FUSED for path in weight.ours}

FAMILY = family(
    'Phi3ForCausalLM',
    template(
        {**NO_BIAS, **EQUAL_HEADS, 'mask': SlidingWindow(), 'dropout': Rate('resid_pdrop', default=0.0)},
        {'bias': False, 'dropout': Rate('resid_pdrop', default=0.0)},
    )
    | {'dropout': Free(0.0)},
    Keys(
        required={**WINDOW, 'partial_rotary_factor': 1.0},
        harmless=('embd_pdrop', 'original_max_position_embeddings'),
        defaults={'rms_norm_eps': 1e-5},
        nullable=('sliding_window',),
    ),
    heads=of_decoder('Phi3', SEQUENCES, TOKENS),
    like='llama',
    weights=(*(weight for weight in WEIGHTS if weight.ours[0] not in _HELD), *_FUSED),
    tokens={'bos_token_id': 1, 'eos_token_id': 32000, 'pad_token_id': 32000},
)
