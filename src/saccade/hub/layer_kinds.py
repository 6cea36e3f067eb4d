# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Layers of several kinds: config.json lists the kind of each layer, and our model repeats a pattern of blocks."""

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from saccade.hub.setting import read, shortened
from saccade.hub.template import Both, Config, Leaf, Place, Written, best, filled
from saccade.types import UserError

_FIELDS = ('first_blocks', 'block', 'last_blocks')
_MOST = 1000  # layers, above all real depths: the search for a pattern takes the square of it
Kinds = tuple[Mapping[str, Any], Both]  # templates by kind, and the kind of each layer in config.json


def depth(config: Config) -> int:
    """Return the number of layers.

    Raises:
        UserError: they are too many.
    """
    count = read(config, 'num_hidden_layers', int)
    if count > _MOST:
        raise UserError(f'config.json: num_hidden_layers must be at most {_MOST}, not {count}')
    return count


def listed(templates: Mapping[str, Any], usual: Callable[[Config, int], int], key: str = 'layer_types') -> Kinds:
    """Return templates with the kind of each layer from a list.

    Args:
        templates: by kind.
        usual: number of the template of a layer where there is no list.
        key: of the list.
    """

    def kinds(config: Config) -> list[str]:
        count = depth(config)
        found = [*map(str, read(config, key, list, [[*templates][usual(config, number)] for number in range(count)]))]
        if len(found) != count:
            raise UserError(f'config.json: {key} is {shortened(found)}, which is not of {count} layers')
        if unknown := {*found} - {*templates}:
            raise UserError(
                f'config.json: {key} is {shortened(min(unknown))} in a layer, which cannot be represented; only '
                f'{", ".join(templates)} can'
            )
        return found

    return templates, Both(kinds, lambda kinds: {key: kinds})


def patterned(model: Mapping[str, Any], **fields: Kinds) -> dict[str, Any]:
    """Template of a model whose layers differ in some fields of their blocks, in each field on its own.

    Args:
        model: template of the model, whose block has what all layers share.
        fields: by name: templates by kind, and the kind of each layer. One without `use` has what differs from the
            model's.
    """
    templates, columns = zip(*fields.values(), strict=True)

    def block(kinds: tuple[str, ...]) -> dict[str, Any]:
        own = {name: made[kind] for name, made, kind in zip(fields, templates, kinds, strict=True)}
        usual = model['block']
        return {
            **usual,
            **{name: each if 'use' in each else {**usual.get(name, {}), **each} for name, each in own.items()},
        }

    def reads(config: Config) -> list[tuple[str, ...]]:
        return [*zip(*(column.reads(config) for column in columns), strict=True)]

    def writes(kinds: list[tuple[str, ...]]) -> dict[str, Any]:
        own = [column.writes([each[place] for each in kinds]) for place, column in enumerate(columns)]
        return {key: value for settings in own for key, value in settings.items()}

    blocks = {kinds: block(kinds) for kinds in itertools.product(*templates)}
    return {**model, **{field: _Blocks(field, blocks, Both(reads, writes)) for field in _FIELDS}}


@dataclass(frozen=True)
class _Blocks(Leaf):
    """Blocks of one field; that of the pattern writes for all."""

    field: str
    templates: Mapping[Any, Any]
    kinds: Both

    def read(self, config: Config) -> Any:
        """Return the specs of the blocks."""
        specs = {kind: filled(template, config) for kind, template in self.templates.items()}
        made = _grouped([specs[kind] for kind in self.kinds.reads(config)])[self.field]
        return made[0] if self.field == 'block' and len(made) == 1 else made

    def written(self, value: Any, place: Place) -> Iterator[Written | str]:
        """Yield what the templates yield that fit the blocks best, and the kind of each layer."""
        if self.field != 'block':
            return
        found: dict[str, list[Any]] = {}
        for field in _FIELDS:
            blocks = place.fields[field]
            found[field] = []
            for number, block in enumerate(blocks if isinstance(blocks, tuple) else (blocks,)):
                at = f'[{number}]' if isinstance(blocks, tuple) else ''
                kind, settings = best(self.templates, block, Place(f'{place.path.removesuffix(self.field)}{field}{at}'))
                found[field].append(kind)
                yield from settings
        first, pattern, last = found.values()
        repeats = (place.fields['layers'] - len(first) - len(last)) // len(pattern)
        yield from super().written([*first, *repeats * pattern, *last], place)

    def write(self, value: list[Any], place: Place) -> dict[str, Any]:
        """Return the settings of the kinds of layers."""
        return self.kinds.writes(value)


def _grouped(layers: list[Any]) -> dict[str, list[Any]]:
    """Return the fewest blocks, by field, that give these layers."""
    count, kinds = len(layers), [layers.index(layer) for layer in layers]
    places = (
        (first, size, (count - first) % size)
        for first in range(count)
        for size in range(1, count - first + 1)
        if all(kinds[number] == kinds[number - size] for number in range(first + size, count))
    )
    first, size, last = min(places, key=lambda sizes: (sum(sizes), sizes))
    return dict(zip(_FIELDS, (layers[:first], layers[first : first + size], layers[count - last :]), strict=True))
