# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Mistral: Llama with a window of attention, and without biases.

Jiang et al. 2023, "Mistral 7B", https://arxiv.org/abs/2310.06825; names and settings are as in
`MistralForCausalLM` in transformers.
"""

from typing import Any

from saccade.hub.heads import of_decoder
from saccade.hub.keys import CAUSAL, Keys
from saccade.hub.llama import NO_BIAS, family, template
from saccade.hub.setting import read
from saccade.hub.template import Config, Leaf, MismatchError, Place, all_fields
from saccade.ops.mask import Causal, Window
from saccade.types import Part


class SlidingWindow(Leaf):
    """Causal mask: of `sliding_window` tokens, the query's own among them, or of all where it is null."""

    def read(self, config: Config) -> dict[str, Any]:
        """Return the spec of the mask."""
        window = read(config, 'sliding_window', int, None)
        return {'use': 'ops.mask:Causal'} if window is None else {'use': 'ops.mask:Window', 'left': window - 1}

    def write(self, value: Part, place: Place) -> dict[str, Any]:
        """Return the setting."""
        if value.target is Causal:
            return {'sliding_window': None}
        if value.target is not Window or all_fields(value)['right']:
            raise MismatchError(f'is {value.name}, which must be ops.mask:Causal, or ops.mask:Window of earlier tokens')
        return {'sliding_window': value['left'] + 1}


# What any decoder obeys, but for the window, which is read.
WINDOW = {key: value for key, value in CAUSAL.items() if key != 'sliding_window'}

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
