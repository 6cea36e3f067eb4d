# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Lazy names of packages (PEP 562): a class is listed without imports, and imported at first access.

A package's `__init__` says `__getattr__, __dir__ = lazy_names('saccade.norm')`: each Linen module of its files is then
a function that makes it with the field's conventional parts (`saccade.conventional`); other classes are returned
unchanged.
"""

import ast
import difflib
import functools
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from saccade.nearest import part_called

_NO_PARTS = {'NamedTuple', 'Protocol'}  # classes derived from these are not parts


def lazy_names(
    owner: str, packages: tuple[str, ...] = (), others: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package.

    Args:
        owner: the package's name.
        packages: packages whose classes it exposes by name; by default its own.
        others: other names: packages and modules, and functions as 'module:name'. Each is imported at first access.
    """
    searched, others = packages or (owner,), others or {}

    def get(name: str) -> Any:
        if name in others:
            if ':' in others[name]:
                from saccade.build import load

                return load(others[name])
            __import__(others[name])
            return sys.modules[others[name]]
        module = classes(searched).get(name)
        if module is None:
            raise AttributeError(f'module {owner!r} has no attribute {name!r}{_meant(name, names())}')
        from saccade.build import load
        from saccade.conventional import conventional

        return conventional(load(f'{module}:{name}'))

    def names() -> list[str]:
        return sorted({*classes(searched), *others})

    return get, names


def _meant(name: str, names: list[str]) -> str:
    """Return a suggestion for a message: our name for another library's, or the closest spelling; '' without either."""
    called = (part_called(f':{name}') or '').rpartition(':')[2]
    match = [called] if called in names else difflib.get_close_matches(name, names, n=1)
    return f'; did you mean {match[0]!r}?' if match else ''


@functools.cache
def classes(packages: tuple[str, ...]) -> dict[str, str]:
    """Return the module of each part defined in the files of packages, by class name."""
    return {name: module for package in packages for name, module in _defined(package)}


def _defined(package: str) -> Iterator[tuple[str, str]]:
    (folder,) = find_spec(package).submodule_search_locations
    for file in sorted(Path(folder).glob('[a-z]*.py')):
        if file.stem.split('_')[-1] != 'base':
            nodes = ast.parse(file.read_text(encoding='utf-8')).body
            yield from ((node.name, f'{package}.{file.stem}') for node in nodes if _is_part(node))


def _is_part(node: ast.stmt) -> bool:
    """True for a public, undecorated class with a base class other than NamedTuple and Protocol."""
    if not isinstance(node, ast.ClassDef) or node.name.startswith('_') or node.decorator_list:
        return False
    return bool(node.bases) and _NO_PARTS.isdisjoint(ast.unparse(base) for base in node.bases)
