# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Lazy names of packages (PEP 562): a part is found without imports, and imported when it is first asked for.

A package's `__init__` says `__getattr__, __dir__ = lazy_names('saccade.norm')`: it then has the parts of its files, and
the packages in it that say so too, by name.
"""

import difflib
import functools
import sys
from collections.abc import Callable, Mapping
from typing import Any

from saccade.nearest import part_called
from saccade.parts import parts, sources


def lazy_names(
    owner: str, packages: tuple[str, ...] = (), others: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package.

    Args:
        owner: the package.
        packages: whose parts it has by name; its own where none are named.
        others: modules that it has under other names, and functions as 'module:name'. Each is imported when it is asked
            for.
    """
    searched = packages or (owner,)

    def get(name: str) -> Any:
        place = places().get(name)
        if place is None:
            raise AttributeError(f'module {owner!r} has no attribute {name!r}{_meant(name, names())}')
        if ':' not in place:
            __import__(place)
            return sys.modules[place]
        from saccade.build import load

        return load(place)

    @functools.cache
    def places() -> dict[str, str]:
        return {**_parts(searched), **_rooms(owner), **(others or {})}

    def names() -> list[str]:
        return sorted(places())

    return get, names


def _meant(name: str, names: list[str]) -> str:
    """Return a suggestion for a message: our name for another library's, or the closest spelling; '' without either."""
    called = (part_called(f':{name}') or '').rpartition(':')[2]
    match = [called] if called in names else difflib.get_close_matches(name, names, n=1)
    return f'; did you mean {match[0]!r}?' if match else ''


def _parts(packages: tuple[str, ...]) -> dict[str, str]:
    """Import paths of the parts in the files of packages, by their names."""
    listed = [(f'saccade.{module}', name) for module, names in parts().items() for name in names]
    return {name: f'{module}:{name}' for module, name in listed if module.rpartition('.')[0] in packages}


def _rooms(owner: str) -> dict[str, str]:
    """Packages in a package that have lazy names, by their own names."""
    packages = [module for module, text in sources().items() if '\n__getattr__, __dir__ = ' in text]
    return {name: package for package in packages for above, _, name in [package.rpartition('.')] if above == owner}
