# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Gemma 3, its texts: Gemma 2 with normed queries and keys, five windows for each full layer, and no bound of scores.

Gemma Team 2025, "Gemma 3 Technical Report", https://arxiv.org/abs/2503.19786; names and settings are as in
`Gemma3ForCausalLM` in transformers, which ignores `attn_logit_softcapping`.
"""

from saccade.hub.gemma2 import CENTRED, SANDWICH, model
from saccade.hub.heads import SEQUENCES, of_decoder
from saccade.hub.keys import Keys
from saccade.hub.layer_kinds import listed, patterned
from saccade.hub.llama_like import QUERY_KEY_NORMS, family
from saccade.hub.rope import Rope
from saccade.hub.setting import read
from saccade.hub.template import Config
from saccade.hub.windows import WINDOW, SlidingWindow

_GLOBAL = Rope('full_attention', usual=1e6).template()
_LOCAL = Rope('sliding_attention', 'rope_local_base_freq', scaled=False).template()
_MIXERS = {
    'full_attention': {'position': _GLOBAL},
    'sliding_attention': {'position': _LOCAL, 'mask': SlidingWindow()},
}


def _usual(config: Config, number: int) -> bool:
    return (number + 1) % read(config, 'sliding_window_pattern', int, 6) > 0


FAMILY = family(
    'Gemma3ForCausalLM',
    patterned(model(head_norm=CENTRED), mixer=listed(_MIXERS, _usual)),
    Keys(
        required={**WINDOW, 'use_bidirectional_attention': False},
        harmless=('attn_logit_softcapping', '_sliding_window_pattern'),
        defaults={'head_dim': 256, 'num_key_value_heads': 4, 'sliding_window': 4096},
        nullable=('sliding_window',),
    ),
    heads=of_decoder('Gemma3Text', SEQUENCES),
    base='Gemma3TextModel',
    weights=(*SANDWICH, *QUERY_KEY_NORMS),
    tokens={'bos_token_id': 2, 'eos_token_id': 1, 'pad_token_id': 0},
)
