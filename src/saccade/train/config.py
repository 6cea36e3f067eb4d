# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A run's config: read from its file, changed from the command line, resolved to plain values.

    --config.model.width=256
    --config.model.block.mixer.kernel="{'use': 'attention.plain:Plain', 'query_chunks': 4}"

A part is swapped as a whole. Overrides are applied in order, so a later one may change a field of a part that an
earlier one brought in. In a list, such as a pattern of blocks, an item goes by its number:

    --config.model.block.0.mixer.heads=8
"""

import ast
import difflib
import runpy
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ml_collections import ConfigDict

from saccade.build import plain
from saccade.train.inherit import inherit
from saccade.types import UserError

PREFIX = '--config.'
# Fields that decide what the model is, so that other overrides may change it.
_BEFORE_MODEL = ('init_from', 'inherit', 'init_part')


def load_config(path: str, overrides: Sequence[str] = ()) -> dict[str, Any]:
    """Return the resolved config of a file with `get_config()`, after overrides of the form `--config.a.b=value`.

    Raises:
        UserError: the file or a field does not exist, or a value does not fit its field.
    """
    config = _unshared(run_file('config', path, 'get_config')[0])
    before = [override for override in overrides if override.partition('=')[0].removeprefix(PREFIX) in _BEFORE_MODEL]
    for override in before:
        _apply(config, override)
    inherit(config)
    for override in overrides:
        _apply(config, override)
    return plain(config)


def run_file(flag: str, path: str, function: str) -> tuple[Any, str]:
    """Run the Python file that a flag names; return what its function returns, and the file's docstring.

    The file may import those beside it, as a script may, and those of the folder above.

    Raises:
        UserError: there is no such file, it is not Python, it imports what there is not, or it does not define the
            function.
    """
    if not Path(path).is_file():
        raise UserError(f'--{flag}={path}: there is no such file; those we ship are under experiments/')
    with _files_beside(path):
        try:
            names = runpy.run_path(path)
        except SyntaxError as error:
            raise UserError(f'--{flag}={path}: {Path(error.filename).name}: line {error.lineno}: {error.msg}') from None
        except ImportError as error:
            raise UserError(
                f'--{flag}={path}: {error}; it may import files beside it or above it, and what is installed'
            ) from error
        if not callable(names.get(function)):
            raise UserError(f'--{flag}={path}: it defines no {function}()')
        return names[function](), names['__doc__'] or ''


@contextmanager
def _files_beside(path: str) -> Iterator[None]:
    """Let a file import those beside it, and those above that nothing installed is called like.

    They are forgotten after it: in another folder the same name is another file.
    """
    folder = Path(path).resolve().parent
    modules, paths = set(sys.modules), sys.path[:]
    sys.path[:] = [str(folder), *paths, str(folder.parent)]
    try:
        yield
    finally:
        sys.path[:] = paths
        for name in set(sys.modules) - modules:
            if any(_stands_in(place, name.partition('.')[0]) for place in (folder, folder.parent)):
                del sys.modules[name]


def _stands_in(folder: Path, name: str) -> bool:
    """Whether a file or a package of this name is in the folder."""
    return any((folder / place).is_file() for place in (f'{name}.py', f'{name}/__init__.py'))


def _unshared(value: Any) -> Any:
    """The same with a config of its own wherever one stands, as a file may put one in several places.

    Else what is overridden in one of them would change in all. References are what is meant to change together.
    """
    if isinstance(value, ConfigDict):
        return ConfigDict({key: _unshared(held) for key, held in value.items(preserve_field_references=True)})
    if isinstance(value, dict):
        return {key: _unshared(held) for key, held in value.items()}
    return type(value)(map(_unshared, value)) if isinstance(value, list | tuple) else value


def _apply(config: ConfigDict, override: str) -> None:
    field, equals, text = override.removeprefix(PREFIX).partition('=')
    if not override.startswith(PREFIX) or not equals:
        raise UserError(f"'{override}': write an override as {PREFIX}field=value")
    *parents, name = field.split('.')
    node = config
    for depth, parent in enumerate(parents):
        node = node[_key(node, parent, '.'.join(parents[: depth + 1]))]
    key = _key(node, name, field)
    if name == 'use':
        raise UserError(
            f"{PREFIX}{field}: this would keep the old part's arguments; swap the part as a whole: "
            f"{PREFIX}{'.'.join(parents)}=\"{{'use': '{text}', ...}}\""
        )
    try:
        node[key] = _parsed(text, _held(node, key), f'{PREFIX}{field}')
    except TypeError as error:
        raise UserError(f'{PREFIX}{field}: {error}') from None


def _key(node: Any, name: str, field: str) -> str | int:
    """Return what a node of the config knows a field by: its name, or in a list its number."""
    if isinstance(node, list):  # its dicts become config dicts, which follow references and mind types
        node[:] = [ConfigDict(item) if isinstance(item, Mapping) else item for item in node]
    keys = {str(number): number for number in range(len(node))} if isinstance(node, list) else _names(node)
    if name not in keys:
        match = difflib.get_close_matches(name, keys, n=1, cutoff=0.5)
        hint = f"did you mean '{match[0]}'?" if match else f'there are {", ".join(keys) or "no fields below it"}'
        raise UserError(f"{PREFIX}{field}: the config has no field '{name}'; {hint}")
    return keys[name]


def _names(node: Any) -> dict[str, str]:
    return {name: name for name in node} if isinstance(node, ConfigDict) else {}


def _held(node: Any, key: str | int) -> Any:
    """What a field holds; of a placeholder for text, which holds nothing, an empty text."""
    is_text = isinstance(node, ConfigDict) and node.get_type(key) is str
    return '' if is_text and node[key] is None else node[key]


def _parsed(text: str, old: Any, where: str) -> Any:
    """Read a value as the type of the one it replaces; None unsets a field of any type."""
    if text == 'None':
        return None
    if isinstance(old, str):
        return text
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        if old is not None:
            raise UserError(f'{where}: {text!r} cannot be read as {_kind(old)}') from None
        return text
    if isinstance(old, ConfigDict) and not isinstance(value, Mapping):
        raise UserError(f"{where}: this is a part or a group of fields; write a dict, as in {{'use': ...}}")
    if isinstance(old, list | tuple) and not isinstance(value, list | tuple):
        raise UserError(f'{where}: write a list, as in [{text}]')
    if isinstance(value, Mapping):
        return ConfigDict(value)
    return float(value) if isinstance(old, float) and isinstance(value, int) else value


def _kind(value: Any) -> str:
    return 'a dict' if isinstance(value, ConfigDict) else type(value).__name__
