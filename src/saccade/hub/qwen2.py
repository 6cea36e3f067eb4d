# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Qwen 2 and 2.5: Llama with biases of queries, keys and values.

Yang et al. 2024, "Qwen2 Technical Report", https://arxiv.org/abs/2407.10671; names and settings are as in
`Qwen2ForCausalLM` in transformers.
"""

from typing import Any

from saccade.hub.keys import Keys
from saccade.hub.llama import family, template
from saccade.hub.mistral import WINDOW
from saccade.hub.setting import read, shortened
from saccade.hub.template import Config, Leaf, MismatchError, Place
from saccade.ops.mask import Causal
from saccade.types import Part, UserError


class FullLayers(Leaf):
    """Causal mask of every layer: windows in some layers are not supported."""

    def read(self, config: Config) -> dict[str, Any]:
        """Return the spec of the mask."""
        if windows := {*map(str, read(config, 'layer_types', list, []))} - {'full_attention'}:
            raise UserError(
                f'config.json: layer_types is {shortened(min(windows))} in a layer, which cannot be represented; only '
                "'full_attention' can"
            )
        return {'use': 'ops.mask:Causal'}

    def write(self, value: Part, place: Place) -> dict[str, Any]:
        """Return the setting."""
        if value.target is not Causal:
            raise MismatchError(f'is {value.name}, which must be ops.mask:Causal')
        return {'use_sliding_window': False}


# Without windows in any layer their size has no effect.
WINDOWS = Keys(
    required={**WINDOW, 'use_sliding_window': False},
    harmless=('max_window_layers', 'sliding_window'),
    defaults={'num_key_value_heads': 32},
)

FAMILY = family(
    'Qwen2ForCausalLM',
    template({'bias': True, 'output_bias': False, 'mask': FullLayers()}, {'bias': False}),
    WINDOWS,
    like='llama',
)
