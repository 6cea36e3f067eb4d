# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Layers of several kinds: config.json lists the kind of each layer, and our model repeats a pattern of blocks."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from saccade.hub.setting import read, shortened
from saccade.hub.template import Config, Leaf, Place, Written, best, filled
from saccade.types import UserError

_FIELDS = ('first_blocks', 'block', 'last_blocks')
_MOST = 1000  # layers, above all real depths: the search for a pattern takes the square of it
Kinds = Callable[[Config], list[str]]


def depth(config: Config) -> int:
    """Return the number of layers.

    Raises:
        UserError: they are too many.
    """
    count = read(config, 'num_hidden_layers', int)
    if count > _MOST:
        raise UserError(f'config.json: num_hidden_layers must be at most {_MOST}, not {count}')
    return count


def listed(usual: Callable[[Config, int], str], *known: str, key: str = 'layer_types') -> Kinds:
    """Return the function that reads the kind of each layer from a list.

    Args:
        usual: kind of a layer where there is no list.
        known: kinds that can be represented.
        key: of the list.
    """

    def kinds(config: Config) -> list[str]:
        count = depth(config)
        found = [*map(str, read(config, key, list, [usual(config, number) for number in range(count)]))]
        if len(found) != count:
            raise UserError(f'config.json: {key} is {shortened(found)}, which is not of {count} layers')
        if unknown := {*found} - {*known}:
            raise UserError(
                f'config.json: {key} is {shortened(min(unknown))} in a layer, which cannot be represented; only '
                f'{", ".join(known)} can'
            )
        return found

    return kinds


def layers(
    templates: Mapping[str, Any],
    kinds: Kinds,
    writes: Callable[[list[str]], dict[str, Any]] = lambda kinds: {'layer_types': kinds},
) -> dict[str, Any]:
    """Template of the blocks of a model.

    Args:
        templates: of a block, by kind.
        kinds: kind of each layer, from config.json.
        writes: settings from the kind of each layer.
    """
    return {field: _Blocks(field, templates, kinds, writes) for field in _FIELDS}


def crossed(
    block: Mapping[str, Any],
    mixers: tuple[Mapping[str, Any], Kinds],
    feedforwards: tuple[Mapping[str, Any], Kinds],
    writes: Callable[[list[str], list[str]], dict[str, Any]],
) -> dict[str, Any]:
    """Template of blocks that differ in their mixers and, on their own, in their feed-forward layers.

    Args:
        block: template of a block, which has any of them.
        mixers, feedforwards: templates by kind, and the kind of each layer from config.json.
        writes: settings from the kinds of mixers and of feed-forward layers.
    """
    (those, of_mixers), (others, of_others) = mixers, feedforwards
    templates = {
        f'{one} {other}': {**block, 'mixer': those[one], 'feedforward': others[other]}
        for one in those
        for other in others
    }

    def kinds(config: Config) -> list[str]:
        return [*map(' '.join, zip(of_mixers(config), of_others(config), strict=True))]

    def settings(kinds: list[str]) -> dict[str, Any]:
        return writes(*map(list, zip(*map(str.split, kinds), strict=True)))

    return layers(templates, kinds, settings)


@dataclass(frozen=True)
class _Blocks(Leaf):
    """Blocks of one field; that of the pattern writes for all."""

    field: str
    templates: Mapping[str, Any]
    kinds: Kinds
    writes: Callable[[list[str]], dict[str, Any]]

    def read(self, config: Config) -> Any:
        """Return the specs of the blocks."""
        specs = {kind: filled(template, config) for kind, template in self.templates.items()}
        made = _grouped([specs[kind] for kind in self.kinds(config)])[self.field]
        return made[0] if self.field == 'block' and len(made) == 1 else made

    def written(self, value: Any, place: Place) -> Iterator[Written | str]:
        """Yield what the templates yield that fit the blocks best, and the kind of each layer."""
        if self.field != 'block':
            return
        found: dict[str, list[str]] = {}
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

    def write(self, value: list[str], place: Place) -> dict[str, Any]:
        """Return the settings of the kinds of layers."""
        return self.writes(value)


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
