# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The one list of parts: names that our files declare in `__all__`, which are what a config may name.

    __all__ = ['RMSNorm']        in norm/rms.py: a config may write {'use': 'norm.rms:RMSNorm'}

Trust, lazy names, catalogue, reference, suggestions and completion derive from this list. Sources are read and not run,
so the list takes some hundredths of a second, also before JAX is imported. Files of other kinds have no `__all__`.
"""

import ast
import functools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

_DECLARED = re.compile(r'^__all__ = (\[[^\]]*\])', re.MULTILINE)
_PACKAGE = Path(__file__).parent


@functools.cache
def sources() -> Mapping[str, str]:
    """Text of each file of the package by its module, as 'saccade.norm.rms'; of a package, that of its `__init__`."""
    files = sorted((file.relative_to(_PACKAGE.parent).with_suffix('').parts, file) for file in _PACKAGE.rglob('*.py'))
    return {'.'.join(path).removesuffix('.__init__'): file.read_text(encoding='utf-8') for path, file in files}


@functools.cache
def parts() -> Mapping[str, tuple[str, ...]]:
    """Names of the parts in each module that has any, by the module as a config names it: 'norm.rms': ('RMSNorm',)."""
    declared = {module.removeprefix('saccade.'): _DECLARED.search(text) for module, text in sources().items()}
    return {module: tuple(ast.literal_eval(found[1])) for module, found in declared.items() if found}


def parts_in(place: str) -> Iterator[str]:
    """Yield the import paths of the parts in a module, or in the modules below a package."""
    for module, names in parts().items():
        if module == place or module.startswith(f'{place}.'):
            yield from (f'{module}:{name}' for name in names)


def uses(config: Any) -> list[tuple[str, str]]:
    """Return each `use` of a config, at any depth, after its field."""
    found, left = [], [('', config)]
    while left:
        path, value = left.pop()
        value = dict(enumerate(value)) if isinstance(value, list | tuple) else value
        for key, held in value.items() if isinstance(value, Mapping) else ():
            field = f'{path}.{key}' if path else str(key)
            if key == 'use':
                found.append((field, held if isinstance(held, str) else repr(held)))
            else:
                left.append((field, held))
    return sorted(found)
