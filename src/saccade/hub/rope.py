# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Rotary positions in config.json.

Version 5 of transformers keeps all of it in `rope_parameters`, or there in an object for each kind of layer; version 4
has the base apart and the rest in `rope_scaling`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from saccade.hub.setting import Settings, read, require, shortened
from saccade.hub.template import Both, Config, MismatchError
from saccade.ops.rotary import linear, llama3
from saccade.types import Part, UserError


@dataclass(frozen=True)
class Rope:
    """Settings of rotary positions.

    Attributes:
        kind: kind of layer that has an object of its own, or ''.
        base: name of the base in version 4.
        usual: base where there is none.
        share: name in version 4 of the share of the features that are rotated, or '' where all are.
        usual_share: share where there is none.
        scaled: whether `rope_scaling` of version 4 is of this kind of layer.
    """

    kind: str = ''
    base: str = 'rope_theta'
    usual: float = 10000.0
    share: str = ''
    usual_share: float = 1.0
    scaled: bool = True

    def template(self) -> dict[str, Any]:
        """Return the template of the positions."""
        share = {'share': Both(self._share, self._share_settings)} if self.share else {}
        return {
            'use': 'position.rotary:Rotary',
            'base': Both(self._base, self._base_settings),
            'scaling': Both(self._scaling, self._scaling_settings),
            **share,
        }

    @property
    def _place(self) -> str:
        return f'rope_parameters.{self.kind}'.rstrip('.')

    def _rope(self, config: Config) -> Settings:
        older = read(config, 'rope_scaling', dict, {}) if self.scaled else {}
        if older:
            return Settings(older, 'rope_scaling.')
        newer = read(config, 'rope_parameters', dict, {})
        return Settings(read(newer, self.kind, dict, {}) if self.kind else newer, f'{self._place}.')

    def _base(self, config: Config) -> float:
        base = read(self._rope(config), 'rope_theta', float, read(config, self.base, float, self.usual))
        if base < 1:
            raise UserError(f'config.json: {self.base} must be at least 1, not {base:g}')
        return base

    def _share(self, config: Config) -> float:
        return read(
            self._rope(config), 'partial_rotary_factor', float, read(config, self.share, float, self.usual_share)
        )

    def _scaling(self, config: Config) -> dict[str, Any] | None:
        rope = self._rope(config)
        if self.share:
            rope.seen.add('partial_rotary_factor')
        else:
            require(rope, 'partial_rotary_factor', 1.0)
        kind = read(rope, 'rope_type', str, read(rope, 'type', str, 'default'))
        if kind not in _SCALINGS:
            raise UserError(f'config.json: unknown rope_type {shortened(kind)}; known: {", ".join(_SCALINGS)}')
        rope.seen.add('rope_theta')
        scaling = _SCALINGS[kind](config, rope)
        if unread := [name for name, value in rope.items() if value is not None and name not in rope.seen]:
            raise UserError(
                f'config.json: {rope.at}{unread[0]} is {shortened(rope[unread[0]])}, but rope_type {shortened(kind)} '
                f'only has {", ".join(sorted(rope.seen))}'
            )
        return scaling

    def _base_settings(self, base: float) -> dict[str, Any]:
        return {self.base: float(base), f'{self._place}.rope_theta': float(base)}

    def _share_settings(self, share: float) -> dict[str, Any]:
        return {self.share: float(share), f'{self._place}.partial_rotary_factor': float(share)}

    def _scaling_settings(self, scaling: Part | None) -> dict[str, Any]:
        """Settings of both versions of transformers."""
        if scaling is None:
            return {f'{self._place}.rope_type': 'default'}
        kind = next((kind for kind, (target, _) in _WRITTEN.items() if target is scaling.target), None)
        if kind is None:
            raise MismatchError(f'is {scaling.name}, which must be ops.rotary:linear, ops.rotary:llama3 or None')
        given, names = dict(scaling.arguments), _WRITTEN[kind][1]
        rope = {'rope_type': kind} | {names[name]: value for name, value in given.items()}
        places = (self._place, 'rope_scaling') if self.scaled else (self._place,)
        return {f'{place}.{key}': value for place in places for key, value in rope.items()}


def _linear(config: Mapping[str, Any], rope: Mapping[str, Any]) -> dict[str, Any]:
    return {'use': 'ops.rotary:linear', 'factor': read(rope, 'factor', float)}


def _llama3(config: Mapping[str, Any], rope: Mapping[str, Any]) -> dict[str, Any]:
    longest = read(config, 'max_position_embeddings', int)
    context_length = read(rope, 'original_max_position_embeddings', int, longest)
    return {
        'use': 'ops.rotary:llama3',
        'factor': read(rope, 'factor', float),
        'low': read(rope, 'low_freq_factor', float),
        'high': read(rope, 'high_freq_factor', float),
        'context_length': read(config, 'original_max_position_embeddings', int, context_length),
    }


_SCALINGS = {'default': lambda config, rope: None, 'linear': _linear, 'llama3': _llama3}
# Functions of ours, with their arguments by the names of transformers.
_WRITTEN = {
    'linear': (linear, {'factor': 'factor'}),
    'llama3': (
        llama3,
        {
            'factor': 'factor', 'low': 'low_freq_factor', 'high': 'high_freq_factor',
            'context_length': 'original_max_position_embeddings',
        },
    ),
}  # fmt: skip
