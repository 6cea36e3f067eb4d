# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Config of a run: read from its file, overridden from the command line, resolved to plain values.

    --config.model.width=256
    --config.model.block.mixer.kernel="{'use': 'attention.plain:Plain', 'query_chunks': 4}"

A part is replaced as a whole, or only its class, which keeps the fields that both classes have:

    --config.model.block.mixer.use=my_attention:Mine

Overrides are applied in order, so a later one may change a field of a part that an earlier one added. Any field of a
part may be set, including fields that the file leaves at their defaults:

    --config.model.block.mixer.key_value_heads=2
    --config.model.embedding_init.stddev=0.01

In a list, such as a pattern of blocks, an item is addressed by its index, and `**` matches any names between: one
override sets every matching field in the config:

    --config.model.block.0.mixer.heads=8
    --config.model.**.norm="{'use': 'norm.layer:LayerNorm'}"
"""

import ast
import contextlib
import difflib
import functools
import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from absl import flags
from ml_collections import ConfigDict

from saccade.build import defaults, fields, load_target, plain, require_range, shortened
from saccade.data.cache import spec
from saccade.nearest import ours
from saccade.train.config_file import RESOLVED, read_config, unshared
from saccade.train.experiment import Experiment
from saccade.train.format import without_number
from saccade.train.init.inherit import inherit
from saccade.types import Part, UserError

PREFIX = '--config.'
_ANY = '**'  # matches any number of names in the path of a field
# Fields that determine the model, applied first so that other overrides may change it.
_BEFORE_MODEL = ('init_from', 'inherit', 'init_part')
_EXAMPLE = 80  # characters of a value repeated in a message
# Types of values in a config, for field types that differ from them.
_IN_CONFIG = {Part: dict, ConfigDict: dict, tuple: list}


def _ignore(line: str) -> None:
    """Ignore a line."""


def load_config(path: str, overrides: Sequence[str] = (), say: Callable[[str], None] = _ignore) -> dict[str, Any]:
    """Return the resolved config of a file, after overrides of the form `--config.a.b=value`.

    Args:
        path: a Python file with `get_config()`, JSON or YAML, as for `read_config`.
        say: called with one line for each class that was replaced: the fields that were kept and dropped.

    Raises:
        UserError: the file or a field does not exist, or a value does not fit its field.
    """
    config = read_config(path)
    before = [override for override in overrides if override.partition('=')[0].removeprefix(PREFIX) in _BEFORE_MODEL]
    for override in before:
        _apply(config, override)
    if before or Path(path).suffix != RESOLVED:  # else an inherited model is there, with its overrides
        inherit(config)
    try:
        _apply_all(config, overrides, say)
        return plain(config)
    except ArithmeticError as error:
        raise UserError(f'--config={path}: a derived field cannot be computed: {error}') from error


def overridden(config: Mapping[str, Any], overrides: Sequence[str]) -> dict[str, Any]:
    """Return a resolved config after overrides of the form `--config.a.b=value`.

    Raises:
        UserError: a field does not exist, or a value does not fit its field.
    """
    changed = ConfigDict(config)
    _apply_all(changed, overrides)
    return plain(changed)


def resolved(config: Mapping[str, Any] | ConfigDict) -> dict[str, Any]:
    """Return the plain values of a config as `get_config()` of an experiment returns it, with a model that it inherits.

    Args:
        config: it may also be the content of a run's config.json.

    Raises:
        UserError: the model cannot be inherited, or the run is of a newer version.
    """
    own = ConfigDict(without_number(plain(config), 'config'))  # a copy, since a model that is inherited is put into it
    inherit(own)
    return plain(own)


def value_of(config: Mapping[str, Any], field: str) -> Any:
    """Return the value of a dotted field of a resolved config, or its default.

    Raises:
        UserError: there is no such field.
    """
    *parents, name = field.split('.')
    return _group(ConfigDict(config), parents).value(name)


def field_called(name: str, path: str | None) -> str | None:
    """Return the field of a config that a flag of this name is likely to mean, as 'config.schedule.peak' for 'lr'.

    Args:
        path: file of the config; None for the fields that every config has.
    """
    config = ConfigDict()
    if path is not None:
        with contextlib.suppress(UserError):
            config = ConfigDict(load_config(path))
    return min(_places(config, ours(name)), key=lambda place: place.count('.'), default=None)


def _places(config: ConfigDict, name: str) -> list[str]:
    """Return the fields of this name in a whole config, as 'config.model.width'."""
    whole = _Group(config, 'config', Experiment, root=config)
    return [f'{group.path}.{name}' for group in whole.everywhere() if name in group.keys]


def _apply_all(config: ConfigDict, overrides: Sequence[str], say: Callable[[str], None] = _ignore) -> None:
    """Apply overrides in order; an error names a later one that replaces the part whose field was set."""
    for number, override in enumerate(overrides):
        try:
            _apply(config, override, say)
        except UserError as error:
            swaps = (other.partition('.use=')[0] for other in overrides[number + 1 :] if '.use=' in other)
            part = next((swap for swap in swaps if override.startswith(f'{swap}.')), None)
            if part is None:
                raise
            raise UserError(f'{error}; overrides are applied in order: give {part}.use=... before it') from None


def _apply(config: ConfigDict, override: str, say: Callable[[str], None] = _ignore) -> None:
    field, equals, text = override.removeprefix(PREFIX).partition('=')
    if not override.startswith(PREFIX) or not equals:
        raise UserError(f'{shortened(override)}: write an override as {PREFIX}field=value')
    for found in _reached(config, field):
        *parents, name = found.split('.')
        group = _group(config, parents)
        if name == 'use' and group.target is not None:
            say(group.swap(text))
        else:
            group.put(name, text)


def _reached(config: ConfigDict, field: str) -> list[str]:
    """Return the fields that match a pattern with `**`, without those inside another match.

    Raises:
        UserError: there are none.
    """
    if _ANY not in field.split('.'):
        return [field]
    names = (r'(?:[^.]+\.)*' if name == _ANY else rf'{re.escape(name)}\.' for name in field.split('.'))
    pattern = re.compile(''.join(names).removesuffix(r'\.'))
    found: list[str] = []
    for path in _paths(config):
        if pattern.fullmatch(path) and not any(path.startswith(f'{whole}.') for whole in found):
            found.append(path)
    if not found:
        names = {path.rpartition('.')[2] for path in _paths(config)}
        match = difflib.get_close_matches(field.rpartition('.')[2], names, n=1, cutoff=0.5)
        hint = f"; did you mean '{match[0]}'?" if match else ''
        raise UserError(f'{PREFIX}{field}: no field of the config matches{hint}')
    return found


def _paths(held: Any, path: str = '') -> Iterator[str]:
    """Yield the paths of all fields in a config, containers before their content."""
    items = (
        held.items() if isinstance(held, Mapping | ConfigDict) else enumerate(held) if isinstance(held, list) else ()
    )
    for key, value in items:
        yield f'{path}{key}'
        yield from _paths(value, f'{path}{key}.')


def _group(config: ConfigDict, names: Sequence[str]) -> '_Group':
    """Return the group of fields below nested names of a config."""
    return functools.reduce(_Group.below, names, _Group(config, 'config', Experiment, root=config))


@dataclass(frozen=True)
class _Group:
    """Group of fields in a config: of a part, of a plain dict, or the items of a list by index.

    Attributes:
        held: the config dict or the list; anything else has no fields.
        path: path of the group, as 'config.model.block'.
        target: class or function that takes the fields; None if the group is not a part.
        hint: type of the field that contains the group.
        root: the whole config.
    """

    held: Any
    path: str
    target: Any = None
    hint: Any = Any
    root: Any = None

    @functools.cached_property
    def hints(self) -> dict[str, Any]:
        """Type hint of every field of the part, including fields left at their defaults."""
        known = {} if self.target is None else fields(self.target, self.hint)
        return {name: hint for name, (hint, _) in known.items()}

    @functools.cached_property
    def keys(self) -> dict[str, str | int]:
        """Name -> key of every possible field; for an item of a list both are its index."""
        if isinstance(self.held, list):
            return {str(number): number for number in range(len(self.held))}
        there = list(self.held) if isinstance(self.held, ConfigDict) else []
        return {name: name for name in (*there, *self.hints)}

    def key(self, name: str) -> str | int:
        """Return the key of a field.

        Raises:
            UserError: there is no such field; the message has the closest one.
        """
        if name not in self.keys:
            raise UserError(f"--{self.path}.{name}: the config has no field '{name}'; {self._meant(name)}")
        return self.keys[name]

    def _meant(self, name: str) -> str:
        """Return a suggestion for a message: another name here, this name elsewhere, or the most similar name."""
        if not self.keys:
            return 'there are no fields below it'
        if name in flags.FLAGS and self.path == 'config':
            return f'did you mean the flag --{name}?'
        if ours(name) in self.keys:
            return f"did you mean '{ours(name)}'?"
        if places := _places(self.root, ours(name)):
            return f'did you mean --{min(places, key=lambda place: place.count("."))}?'
        match = difflib.get_close_matches(name, self.keys, n=1, cutoff=0.5)
        return f"did you mean '{match[0]}'?" if match else f'there are {", ".join(self.keys)}'

    def everywhere(self) -> Iterator['_Group']:
        """Yield this group and all groups below it in the config."""
        yield self
        held = self.held if isinstance(self.held, ConfigDict) else range(len(self.held)) if self.held else ()
        for key in list(held):
            if isinstance(self.held[key], ConfigDict | list):
                yield from self.below(str(key)).everywhere()

    def value(self, name: str) -> Any:
        """Return the value of a field, or its default."""
        key = self.key(name)
        absent = isinstance(self.held, ConfigDict) and key not in self.held
        return defaults(self.target).get(name) if absent else self.held[key]

    def below(self, name: str) -> '_Group':
        """Return the group below a field. A part that is a default is first written into the config."""
        held, path = self.value(name), f'{self.path}.{name}'
        if isinstance(held, Part):
            self.held[name] = spec(held)
            held = self.held[name]
        if isinstance(held, list):  # convert its dicts to config dicts, which follow references
            held[:] = [ConfigDict(item) if isinstance(item, Mapping) else item for item in held]
        is_part = isinstance(held, ConfigDict) and 'use' in held
        target = load_target(held['use'], f'{path}.use') if is_part else None
        return _Group(held, path, target, self.hints.get(name, Any), self.root)

    def put(self, name: str, text: str) -> None:
        """Parse a value by the field's type and its present value, and set it in the config."""
        key, where = self.key(name), f'--{self.path}.{name}'
        value = _parsed(text, self._admitted(key), where)
        require_range(value, self.hints.get(key, Any), where)
        if isinstance(self.held, list):
            self.held[key] = value
        else:
            with self.held.ignore_type():  # it enforces the type of the old value, but the field may allow others
                self.held[key] = value

    def swap(self, use: str) -> str:
        """Replace the class of a part, with the fields that both have; return a line with the kept and dropped ones.

        Raises:
            UserError: there is no such class.
        """
        known = fields(load_target(use, f'--{self.path}.use'), self.hint)
        given = [name for name in self.held if name != 'use']
        kept, dropped = ([name for name in given if (name in known) == both] for both in (True, False))
        for name in dropped:
            del self.held[name]
        self.held['use'] = use
        return f'{self.path}.use={use} keeps {", ".join(kept) or "no field"}; drops {", ".join(dropped) or "none"}'

    def _admitted(self, key: str | int) -> set[type]:
        """Return the types that the field may have: the types of its hint and of its present value."""
        hinted = _kinds(self.hints.get(key, Any))
        if isinstance(self.held, list):
            held = type(self.held[key])
        else:
            held = self.held.get_type(key) if key in self.held else type(None)
        return (hinted | _kinds(held)) - {object} or {object}


def _kinds(hint: Any) -> set[type]:
    """Return the types of config values that a hint admits: a part is a dict, a tuple a list.

    `object` represents an unknown type; None is always admitted.
    """
    origin, arguments = typing.get_origin(hint) or hint, typing.get_args(hint)
    if origin is typing.Annotated:
        return _kinds(arguments[0])
    if origin in (typing.Union, types.UnionType):
        return set().union(*map(_kinds, arguments))
    if origin is typing.Literal:
        return set(map(type, arguments))
    if origin is tuple and arguments and typing.get_origin(arguments[0]) is tuple:  # (name, value) pairs
        return {dict}
    kind = _IN_CONFIG.get(origin, origin)
    return set() if kind is type(None) else {kind if kind in (bool, int, float, str, dict, list) else object}


def _parsed(text: str, kinds: set[type], where: str) -> Any:
    """Parse a value of one of these types; None unsets a field of any type."""
    if text == 'None':
        return None
    if kinds == {str}:
        return text
    try:
        value = ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        value = text
    value = unshared(value, where)
    kind = _IN_CONFIG.get(type(value), type(value))
    if kind is int and int not in kinds and float in kinds:
        return float(value)
    if kind in kinds or object in kinds:
        return ConfigDict(value) if kind is dict else value
    if str in kinds:
        return text
    written = {dict: "a dict, as in {'use': ...}", list: f'a list, as in [{text if len(text) < _EXAMPLE else "..."}]'}
    wanted = ' or '.join(sorted(written.get(kind, kind.__name__) for kind in kinds))
    raise UserError(f'{where}: {shortened(text)} cannot be read as {wanted}')
