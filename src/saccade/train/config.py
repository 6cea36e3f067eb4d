# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A run's config: read from its file, changed from the command line, resolved to plain values.

    --config.model.width=256
    --config.model.block.mixer.kernel="{'use': 'attention.plain:Plain', 'query_chunks': 4}"

A part is swapped as a whole. Overrides are applied in order, so a later one may change a field of a part that an
earlier one brought in.
"""

import ast
import difflib
import runpy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ml_collections import ConfigDict

from saccade.build import plain
from saccade.types import UserError

PREFIX = '--config.'


def load_config(path: str, overrides: Sequence[str] = ()) -> dict[str, Any]:
    """Return the resolved config of a file with `get_config()`, after overrides of the form `--config.a.b=value`.

    Raises:
        UserError: the file or a field does not exist, or a value does not fit its field.
    """
    config = run_file('config', path, 'get_config')['get_config']()
    for override in overrides:
        _apply(config, override)
    return plain(config)


def run_file(flag: str, path: str, function: str) -> dict[str, Any]:
    """Run the Python file that a flag names, and return its names, of which one is to be a function.

    Raises:
        UserError: there is no such file, it is not Python, or it does not define the function.
    """
    if not Path(path).is_file():
        raise UserError(f'--{flag}={path}: there is no such file; those we ship are under experiments/')
    try:
        names = runpy.run_path(path)
    except SyntaxError as error:
        raise UserError(f'--{flag}={path}: line {error.lineno}: {error.msg}') from None
    if not callable(names.get(function)):
        raise UserError(f'--{flag}={path}: it defines no {function}()')
    return names


def _apply(config: ConfigDict, override: str) -> None:
    field, equals, text = override.removeprefix(PREFIX).partition('=')
    if not override.startswith(PREFIX) or not equals:
        raise UserError(f"'{override}': write an override as {PREFIX}field=value")
    *parents, name = field.split('.')
    node = config
    for depth, parent in enumerate(parents):
        _require(node, parent, '.'.join(parents[: depth + 1]))
        node = node[parent]
    _require(node, name, field)
    if name == 'use':
        raise UserError(
            f"{PREFIX}{field}: this would keep the old part's arguments; swap the part as a whole: "
            f"{PREFIX}{'.'.join(parents)}=\"{{'use': '{text}', ...}}\""
        )
    try:
        node[name] = _parsed(text, node[name], f'{PREFIX}{field}')
    except TypeError as error:
        raise UserError(f'{PREFIX}{field}: {error}') from None


def _require(node: Any, name: str, field: str) -> None:
    known = list(node) if isinstance(node, ConfigDict) else []
    if name not in known:
        match = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
        hint = f"did you mean '{match[0]}'?" if match else f'there are {", ".join(known) or "no fields below it"}'
        raise UserError(f"{PREFIX}{field}: the config has no field '{name}'; {hint}")


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
