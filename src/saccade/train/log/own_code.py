# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Code of the user's own that a run depends on: digest and git state of each file.

It consists of the modules outside the package that the config names, and of their imports from their own folder or
package. Of an installed library only the named module is recorded, since its imports are the rest of the library.
"""

import ast
import hashlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec, resolve_name
from pathlib import Path
from typing import Any

from saccade.train.log.command import git
from saccade.trust import outside

NO_REPOSITORY = 'no repository'

_INSTALLED = {'site-packages', 'dist-packages'}  # folders of libraries


@dataclass(frozen=True)
class _Source:
    """Source file of a module. Attributes: its path and its content."""

    file: Path
    content: bytes

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.content).hexdigest()


def own_code(config: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return module -> its `file`, `sha256` and `git`: '<commit>, clean', '<commit>, dirty' or 'no repository'."""
    return {
        name: {'file': str(source.file), 'sha256': source.digest, 'git': _state(source.file)}
        for name, source in _sources(config).items()
    }


def changed(config: Mapping[str, Any], recorded: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Return the user's own files whose digest is not the recorded one, in the order of their modules."""
    sources = {name: source for name, source in _sources(config).items() if name in recorded}
    return [str(source.file) for name, source in sources.items() if source.digest != recorded[name].get('sha256')]


def _sources(config: Mapping[str, Any]) -> dict[str, _Source]:
    """Return the source of each of the user's own modules; modules without a file are left out."""
    found: dict[str, _Source] = {}
    for named in outside(config):
        spec = find_spec(named)
        if spec is None or spec.origin is None:
            continue
        path = Path(spec.origin)
        # The folder on the import path: a parent for each dot, and another one for the __init__.py of a package.
        root = path.parents[named.count('.') + (path.stem == '__init__')]
        installed, left = bool(_INSTALLED & set(root.parts)), [named]
        while left:
            name = left.pop()
            source = _source(root, name)
            if source is not None and name not in found:
                found[name] = source
                left += [] if installed else _imports(name, source)
    return dict(sorted(found.items()))


def _source(root: Path, module: str) -> _Source | None:
    """Return the source of a module below a folder of the import path; None if it is not there."""
    path = root.joinpath(*module.split('.'))
    for file in (path / '__init__.py', path.with_suffix('.py'), *path.parent.glob(f'{path.name}.*.so')):
        with suppress(OSError):
            return _Source(file, file.read_bytes())
    return None


def _imports(module: str, source: _Source) -> list[str]:
    """Return possible names of modules that a module imports, and of the packages that contain them."""
    package = module if source.file.stem == '__init__' else module.rpartition('.')[0]
    names = [module]
    with suppress(SyntaxError, ValueError):  # a compiled module
        for node in ast.walk(ast.parse(source.content)):
            if isinstance(node, ast.Import):
                names += [alias.name for alias in node.names]
            if isinstance(node, ast.ImportFrom):
                with suppress(ImportError):  # above its package, in a branch that never runs
                    base = resolve_name('.' * node.level + (node.module or ''), package)
                    names += [base, *(f'{base}.{alias.name}' for alias in node.names)]
    split = [name.split('.') for name in names]
    return ['.'.join(parts[: count + 1]) for parts in split for count in range(len(parts))]


def _state(file: Path) -> str:
    commit = git(file.parent, 'rev-parse', 'HEAD')
    if commit is None:
        return NO_REPOSITORY
    # An ignored file counts as a change: no commit has it.
    changes = git(file.parent, 'status', '--porcelain', '--ignored', '--', file.name)
    return f'{commit.strip()}, {"clean" if changes == "" else "dirty"}'
