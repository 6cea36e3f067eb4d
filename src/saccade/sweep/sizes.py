# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sizes of a sweep: smaller versions of it, from the largest to the smallest; a budget selects one.

    sizes=[
        dict(name='full'),
        dict(name='small', config={'steps': 600}, seeds=3, tune=dict(by={...}, seeds=[100], halving=dict(steps=[...]))),
    ]

Each has a name, optional `config` fields for all its runs, and any of runs, seeds, match and tune, which replace the
sweep's own. Fields on the command line override a size's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from saccade.types import UserError

_REPLACED = ('runs', 'seeds', 'match', 'tune')


@dataclass(frozen=True)
class Size:
    """Size of a sweep. Attributes: name; config, fields of all runs; rest, replacements of the sweep's own keys."""

    name: str
    config: Mapping[str, Any]
    rest: Mapping[str, Any]

    def applied(self, spec: Mapping[str, Any]) -> dict[str, Any]:
        """Return the sweep file's dict at this size."""
        return {**spec, **self.rest}


def sizes_of(spec: Mapping[str, Any]) -> list[Size]:
    """Read `sizes` of a sweep file, largest first.

    Raises:
        UserError: `sizes` has another form, or is empty.
    """
    listed = spec.get('sizes')
    if not isinstance(listed, list | tuple) or not listed:
        raise UserError("this sweep has no sizes to choose from: sizes=[dict(name='full'), ...], largest first")
    for number, size in enumerate(listed):
        where = f'sizes[{number}]'
        if not isinstance(size, Mapping) or not isinstance(size.get('name'), str):
            raise UserError(f"{where}: write a dict with a name, as dict(name='small', config={{'steps': 600}})")
        if unknown := sorted(set(size) - {'name', 'config', *_REPLACED}):
            raise UserError(f"{where}: unknown key '{unknown[0]}'; a size has name, config, {', '.join(_REPLACED)}")
        if not isinstance(size.get('config', {}), Mapping):
            raise UserError(f'{where}.config: write a dict of fields and values, not {size["config"]!r}')
    names = [size['name'] for size in listed]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UserError(f"sizes: two have the name '{twice[0]}'")
    return [
        Size(size['name'], size.get('config', {}), {key: size[key] for key in _REPLACED if key in size})
        for size in listed
    ]


def size_of(spec: Mapping[str, Any], name: str) -> Size:
    """Return the size of this name.

    Raises:
        UserError: there is no such size.
    """
    sizes = {size.name: size for size in sizes_of(spec)}
    if name not in sizes:
        raise UserError(f"--size: there is no size '{name}'; the sweep has {', '.join(sizes)}")
    return sizes[name]
