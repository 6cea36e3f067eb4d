# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Masks in config.json: windows of attention."""

from dataclasses import dataclass
from typing import Any

from saccade.hub.keys import CAUSAL, Keys
from saccade.hub.setting import read, shortened
from saccade.hub.template import Config, Leaf, MismatchError, Place, all_fields
from saccade.ops.mask import Causal, Window
from saccade.types import Part, UserError

# What any decoder obeys, but for the window, which is read.
WINDOW = {key: value for key, value in CAUSAL.items() if key != 'sliding_window'}
# Without windows in any layer their size has no effect.
NO_WINDOWS = Keys(
    required={**WINDOW, 'use_sliding_window': False},
    harmless=('max_window_layers', 'sliding_window'),
    defaults={'num_key_value_heads': 32},
)


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


@dataclass(frozen=True)
class TwoSided(Leaf):
    """Window of an encoder, half of it on either side of the query. Attributes: key of its width; default."""

    key: str
    default: int

    def read(self, config: Config) -> dict[str, Any]:
        """Return the spec of the mask."""
        half = read(config, self.key, int, self.default) // 2
        return {'use': 'ops.mask:Window', 'left': half, 'right': half}

    def write(self, value: Part, place: Place) -> dict[str, Any]:
        """Return the setting."""
        if value.target is not Window or value['left'] != all_fields(value)['right']:
            raise MismatchError(f'is {value.name}, which must be ops.mask:Window with as many tokens on either side')
        return {self.key: 2 * value['left']}


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
