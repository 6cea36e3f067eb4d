# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Description of a model's variant in words: its parts, and their arguments in the config."""

from collections.abc import Iterator
from typing import Any

from saccade.build import defaults, fields
from saccade.types import Part

_LABEL = 12  # columns, as in the rest of the plan
_SIZES = ('heads', 'key_value_heads', 'head_width')  # of a mixer, given in words


def variant_lines(model: Part, label: str = 'model') -> Iterator[str]:
    """Describe each tower of a model, and each of its blocks: mixers with heads, kernel, mask and position; norms.

    Args:
        model: any model; one without blocks is described by its own parts.
        label: name of the tower, as 'encoder'.
    """
    given = _arguments(model)
    towers = {name: part for name, part in given.items() if isinstance(part, Part) and _has_blocks(part)}
    if hasattr(model.target, 'kinds'):
        yield from _tower_lines(model, label)
    elif towers:
        for name, part in towers.items():
            yield from variant_lines(part, name)
    else:
        yield _line(label, _words(model) if 'width' in given else _name(model))
        yield from _part_lines(model, given.get('width'))


def _tower_lines(model: Part, label: str) -> Iterator[str]:
    tower = model(parent=None)
    shared = f'; shared {_words(tower.shared)}' if tower.shared else ''
    size = f'{tower.layers} layers of width {tower.width}'
    yield _line(label, f'{_name(model)}, {size}; position {_words(tower.position)}{shared}')
    for where, block in tower.kinds():
        norm = _arguments(block).get('norm')
        norms = f', norms {_words(norm)}' if norm else ''
        norms += ''.join(f', {place} {_words(own)}' for place, own in _arguments(block).get('norms', ()))
        last = '' if norm == tower.norm else f', {_words(tower.norm)} last'
        yield _line('block', f'{where}{_words(block)}{norms}{last}')
        yield from _part_lines(block, tower.width)


def _part_lines(part: Part, width: int | None) -> Iterator[str]:
    """Yield a line for each part of a part except its norm, which the line of the block names."""
    for name, held in _arguments(part).items():
        if isinstance(held, Part) and name != 'norm':
            yield _line(name, _mixer_words(held, width))


def _mixer_words(part: Part, width: int | None) -> str:
    """Describe a part with its heads, if it has any, and with its own parts."""
    said = [_words(part)]
    if width and hasattr(part.target, 'heads_in_words'):
        said.append(part(parent=None).heads_in_words(width))
    held = {name: value for name, value in _arguments(part).items() if _holds_parts(value)}
    return '; '.join([', '.join(said), *(f'{name} {_called(value)}' for name, value in held.items())])


def _called(value: Any) -> str:
    """Format a part like a call, with its own parts; or several parts."""
    if isinstance(value, tuple):
        return ' and '.join(map(_called, value))
    held = {name: inner for name, inner in _arguments(value).items() if _holds_parts(inner)}
    shown = [*_chosen(value), *(f'{name}={_called(inner)}' for name, inner in held.items())]
    return f'{_name(value)}({", ".join(shown)})' if shown else _name(value)


def _words(part: Part) -> str:
    """Format a part with its chosen arguments, except its own parts, head sizes and norms."""
    chosen = [each for each in _chosen(part) if each.partition('=')[0] not in (*_SIZES, 'norms')]
    return f'{_name(part)}({", ".join(chosen)})' if chosen else _name(part)


def _chosen(part: Part) -> list[str]:
    """Return the arguments, parts excluded, that differ from their defaults."""
    usual = defaults(part.target)
    return [
        f'{name}={_short(value)}'
        for name, value in _arguments(part).items()
        if not _holds_parts(value) and (name not in usual or value != usual[name])
    ]


def _arguments(part: Part) -> dict[str, Any]:
    """Return the arguments of a part in the config, in the order of its fields, without initialisers of weights."""
    given = dict(part.arguments)
    return {name: given[name] for name in fields(part.target) if name in given and not name.endswith('_init')}


def _short(value: Any) -> str:
    return f'{value:.4g}' if isinstance(value, float) else str(value)


def _holds_parts(value: Any) -> bool:
    items = value if isinstance(value, tuple) and value else (value,)
    return all(isinstance(item, Part) for item in items)


def _has_blocks(part: Part) -> bool:
    inner = (value for value in _arguments(part).values() if isinstance(value, Part))
    return hasattr(part.target, 'kinds') or any(map(_has_blocks, inner))


def _name(part: Part) -> str:
    return part.target.__qualname__


def _line(label: str, words: str) -> str:
    return f'{label:<{_LABEL - 1}} {words}'
