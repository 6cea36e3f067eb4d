# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Concise differences between configs.

A swapped part is one field, shown as its class with the differing arguments that some alternatives lack; an argument
of all alternatives is a separate field. A sweep over schedules and their peaks therefore has two columns. An
initialiser is shown if any alternative lacks it, because the alternative then uses the default of its class.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

ABSENT = '—'

_MISSING = object()
_INITIALISER = '_init'  # suffix of the names of initialiser fields

Path = tuple[str, ...]


def differing(configs: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return each field in which configs differ, by its shortest unique name, with its value in each config.

    Fields that always change together, such as derived fields, are one entry.
    """
    columns: dict[tuple[str, ...], list[Path]] = {}
    for path, texts in _differences(configs, ()):
        columns.setdefault(tuple(texts), []).append(path)
    names = _short([path for paths in columns.values() for path in paths])
    return {', '.join(names[path] for path in paths): list(texts) for texts, paths in columns.items()}


def _differences(values: Sequence[Any], path: Path) -> Iterator[tuple[Path, list[str]]]:
    trees = [_tree(value) for value in values]
    if any(tree is None for tree in trees):
        if len({_exact(value) for value in values}) > 1:
            yield path, _texts(values)
        return
    keys = sorted({key for tree in trees for key in tree})
    if any(tree.get('use') != trees[0].get('use') for tree in trees):
        keys = [key for key in keys if key != 'use' and all(key in tree for tree in trees)]
        yield path, _told_apart(trees, lambda tree, digits: _swapped(tree, trees, keys, digits))
    for key in keys:
        yield from _differences([tree.get(key, _MISSING) for tree in trees], (*path, key))


def _tree(value: Any) -> Mapping[str, Any] | None:
    if isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
        return {str(place): item for place, item in enumerate(value)}
    return value if isinstance(value, Mapping) else None


def _swapped(
    spec: Mapping[str, Any], rivals: Sequence[Mapping[str, Any]], shared: Sequence[str], digits: int | None
) -> str:
    """Return a part's class with the arguments that differ from an alternative, or that a similar one lacks."""

    def differs(key: str, value: Any) -> bool:
        might = [
            rival
            for rival in rivals
            if key in rival or rival.get('use') == spec.get('use') or key.endswith(_INITIALISER)
        ]
        return any(rival.get(key, _MISSING) != value for rival in might)

    own = {key: value for key, value in spec.items() if key not in ('use', *shared)}
    arguments = [f'{key}={_text(value, digits)}' for key, value in own.items() if differs(key, value)]
    namesakes = {rival.get('use') for rival in rivals if _class(rival) == _class(spec)}
    name = _class(spec) if len(namesakes) == 1 else str(spec.get('use', 'dict'))
    return f'{name}({", ".join(arguments)})' if arguments else name


def _class(spec: Mapping[str, Any]) -> str:
    return str(spec.get('use', 'dict')).rpartition(':')[2]


def _texts(values: Sequence[Any]) -> list[str]:
    """Format values with the fewest digits that distinguish them; as JSON if necessary, as for 1 and '1'."""
    exact, texts = [_exact(value) for value in values], _told_apart(values, _text)
    return texts if len(set(texts)) == len(set(exact)) else exact


def _told_apart(values: Sequence[Any], text: Callable[[Any, int | None], str]) -> list[str]:
    """Format values with the fewest digits that tell apart as many as all digits do. Args: text, of a value."""
    attempts = [[text(value, digits) for value in values] for digits in (4, 8, None)]
    most = max(len(set(texts)) for texts in attempts)
    return next(texts for texts in attempts if len(set(texts)) == most)


def _exact(value: Any) -> str:
    if value is _MISSING:
        return ABSENT
    return json.dumps(float(value) if type(value) is int else value, sort_keys=True)


def _text(value: Any, digits: int | None = 4) -> str:
    """Format a value with this many significant digits; None for the fewest that round-trip."""
    if value is _MISSING:
        return ABSENT
    if isinstance(value, float):
        return repr(value).removesuffix('.0') if digits is None else f'{value:.{digits}g}'
    if isinstance(value, Mapping):
        inner = ', '.join(f'{key}={_text(item, digits)}' for key, item in value.items() if key != 'use')
        return f'{_class(value)}({inner})' if inner else _class(value)
    if isinstance(value, list):
        return f'[{", ".join(_text(item, digits) for item in value)}]'
    return str(value)


def _short(paths: Sequence[Path]) -> dict[Path, str]:
    """Name each path by its shortest unique suffix."""
    names = {}
    for path in paths:
        others = [other for other in paths if other != path]
        clear = [size for size in range(1, len(path)) if all(other[-size:] != path[-size:] for other in others)]
        names[path] = '.'.join(path[-clear[0] :] if clear else path)
    return names
