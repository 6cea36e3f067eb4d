# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Config of a run: read from its file, overridden from the command line, resolved to plain values.

    --config.model.width=256
    --config.model.block.mixer.kernel="{'use': 'attention.plain:Plain', 'query_chunks': 4}"

A part is swapped as a whole, or its class alone, which keeps the fields that both classes have:

    --config.model.block.mixer.use=my_attention:Mine

Overrides are applied in order, so a later one may change a field of a part that an earlier one brought in. Any field of
a part may be given, also one that the file leaves at its default:

    --config.model.block.mixer.key_value_heads=2
    --config.model.embedding_init.stddev=0.01

In a list, such as a pattern of blocks, an item goes by its number, and `**` stands for any names between: one override
reaches every field of that name that the config has:

    --config.model.block.0.mixer.heads=8
    --config.model.**.norm="{'use': 'norm.layer:LayerNorm'}"
"""

import ast
import difflib
import functools
import itertools
import re
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

from ml_collections import ConfigDict

from saccade.build import defaults, fields, load_target, plain, require_range, shortened
from saccade.data.cache import spec
from saccade.nearest import ours
from saccade.train.experiment import Experiment
from saccade.train.init.inherit import inherit
from saccade.types import Part, UserError

PREFIX = '--config.'
_ANY = '**'  # in the path of a field: any number of names
# Fields that decide what the model is, so that other overrides may change it.
_BEFORE_MODEL = ('init_from', 'inherit', 'init_part')
_FOLDERS = itertools.count()  # a file may load another
_DEEPEST = 100  # levels of a config
_EXAMPLE = 80  # characters of a value that a message repeats
# What stands in a config for a value of another type.
_IN_CONFIG = {Part: dict, ConfigDict: dict, tuple: list}


def _unsaid(line: str) -> None:
    """Say nothing."""


def load_config(path: str, overrides: Sequence[str] = (), say: Callable[[str], None] = _unsaid) -> dict[str, Any]:
    """Return the resolved config of a file with `get_config()`, after overrides of the form `--config.a.b=value`.

    Args:
        say: takes one line for each class that was swapped: the fields that were kept, and those that were dropped.

    Raises:
        UserError: the file or a field does not exist, or a value does not fit its field.
    """
    config = run_file('config', path, 'get_config')[0]
    if not isinstance(config, Mapping | ConfigDict):
        raise UserError(f'--config={path}: get_config() must return a ConfigDict, not {shortened(config)}')
    config = config if isinstance(config, ConfigDict) else ConfigDict(config)
    before = [override for override in overrides if override.partition('=')[0].removeprefix(PREFIX) in _BEFORE_MODEL]
    for override in before:
        _apply(config, override)
    inherit(config)
    try:
        for override in overrides:
            _apply(config, override, say)
        return plain(config)
    except ArithmeticError as error:
        raise UserError(f'--config={path}: a field that follows from others cannot be worked out: {error}') from error


def overridden(config: Mapping[str, Any], overrides: Sequence[str]) -> dict[str, Any]:
    """Return a resolved config after overrides of the form `--config.a.b=value`.

    Raises:
        UserError: a field does not exist, or a value does not fit its field.
    """
    changed = ConfigDict(config)
    for override in overrides:
        _apply(changed, override)
    return plain(changed)


def run_file(flag: str, path: str, function: str) -> tuple[Any, str]:
    """Run the Python file that a flag names; return a copy of what its function returns, and the file's docstring.

    The file may import what is installed, `saccade.experiments` among it, and files beside it, `from .base import x`.

    Raises:
        UserError: there is no such file, it is not Python, it imports what there is not, or it does not define the
            function; the function needs arguments, or returns what is no config.
    """
    where, path = f'--{flag}={path}', _found(flag, path)
    if Path(path).suffix == '.json':
        raise UserError(
            f'{where}: it is JSON, and this takes a Python file that defines {function}(); a run goes on by the '
            'command that started it, with its --config=FILE.py and --workdir=FOLDER'
        )
    code = _compiled(where, path)
    with _package_of(Path(path)) as package:
        names = {'__name__': f'{package}.__config__', '__package__': package, '__file__': path}
        try:
            exec(code, names)
            returned = _called(where, names, function)
        except SystemExit:
            raise UserError(f'{where}: it ends the program; it must define {function}() and return') from None
        except SyntaxError as error:  # of a file that it imports
            place = f'{Path(error.filename).name}: line {error.lineno}: ' if error.filename else ''
            raise UserError(f'{where}: {place}{error.msg}') from None
        except ImportError as error:
            said = str(error).replace(f'{package}.', '.')
            raise UserError(
                f'{where}: {said}; it may import what is installed, and a file beside it by `from .name import ...`'
            ) from error
        return _unshared(returned, f'{where}: {function}()'), names.get('__doc__') or ''


def _called(where: str, names: Mapping[str, Any], function: str) -> Any:
    """Call the function that a file defines.

    Raises:
        UserError: the file does not define it, or it needs arguments.
    """
    if not callable(names.get(function)):
        raise UserError(f'{where}: it defines no {function}()')
    needed = [name for name, parameter in signature(names[function]).parameters.items() if _is_needed(parameter)]
    if needed:
        raise UserError(f'{where}: {function}() must take no arguments; it needs {", ".join(needed)}')
    return names[function]()


def _found(flag: str, path: str) -> str:
    """The path of a file: as it is given, or of what we ship, by its name: causal_lm/quickstart, heads for a sweep."""
    if Path(path).exists():
        return path
    shipped = Path(str(files('saccade.experiments')))
    name = f'{path.removeprefix("experiments/").removesuffix(".py")}.py'
    folders = (shipped, shipped / f'{flag}s')  # sweeps/ and suites/ for --sweep and --suite
    return next((str(folder / name) for folder in folders if (folder / name).is_file()), path)


def _compiled(where: str, path: str) -> types.CodeType:
    try:
        return compile(Path(path).read_bytes(), path, 'exec')
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        raise UserError(f'{where}: there is no such file; those we ship are under experiments/{_near(path)}') from None
    except OSError as error:
        raise UserError(f'{where}: cannot be read ({error.strerror})') from error
    except SyntaxError as error:
        place = f'{Path(path).name}: line {error.lineno}: ' if error.lineno else 'it is no Python: '
        raise UserError(f'{where}: {place}{error.msg}') from None
    except (ValueError, OverflowError, MemoryError, RecursionError) as error:
        raise UserError(f'{where}: it is no Python: {error or "it is nested too deep"}') from None


def _is_needed(parameter: Parameter) -> bool:
    return parameter.default is Parameter.empty and parameter.kind not in (
        Parameter.VAR_POSITIONAL,
        Parameter.VAR_KEYWORD,
    )


def _near(path: str) -> str:
    """Say which of the experiments that we ship has the nearest name."""
    shipped = Path(str(files('saccade.experiments')))
    names = [str(file.relative_to(shipped).with_suffix('')) for file in shipped.glob('*/[a-z]*.py')]
    match = difflib.get_close_matches(path.removeprefix('experiments/').removesuffix('.py'), names, n=1)
    return f"; did you mean '{match[0]}'?" if match else ''


@contextmanager
def _package_of(file: Path) -> Iterator[str]:
    """Name a package whose modules are the files beside this one; they are forgotten after it."""
    package = types.ModuleType(f'saccade_config_files_{next(_FOLDERS)}')
    package.__path__ = [str(file.resolve().parent)]
    sys.modules[package.__name__] = package
    try:
        yield package.__name__
    finally:
        for name in [name for name in sys.modules if name.partition('.')[0] == package.__name__]:
            del sys.modules[name]


def _unshared(value: Any, where: str, above: tuple[int, ...] = ()) -> Any:
    """The same with a config of its own wherever one stands, as a file may put one in several places.

    Else what is overridden in one of them would change in all. References are what is meant to change together.

    Args:
        where: the value stands, for messages.
        above: identities of what it stands in.

    Raises:
        UserError: something contains itself or is nested too deep, or a key is no text.
    """
    if not isinstance(value, ConfigDict | dict | list | tuple):
        return value
    if id(value) in above or len(above) == _DEEPEST:
        raise UserError(f'{where}: it contains itself, or is nested more than {_DEEPEST} deep')
    above = (*above, id(value))
    if isinstance(value, list | tuple):
        return [_unshared(held, f'{where}[{number}]', above) for number, held in enumerate(value)]
    items = value.items(preserve_field_references=True) if isinstance(value, ConfigDict) else value.items()
    for key, _ in items:
        if not isinstance(key, str):
            raise UserError(f'{where}: the name of a field is text, not {shortened(key)}')
    made = ConfigDict if isinstance(value, ConfigDict) else dict
    return made({key: _unshared(held, f'{where}.{key}', above) for key, held in items})


def value_of(config: Mapping[str, Any], field: str) -> Any:
    """Return the value of a dotted field of a resolved config; its default where the config leaves it at that.

    Raises:
        UserError: there is no such field.
    """
    *parents, name = field.split('.')
    return _group(ConfigDict(config), parents).value(name)


def _apply(config: ConfigDict, override: str, say: Callable[[str], None] = _unsaid) -> None:
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
    """Return the fields that a pattern with `**` reaches, without those inside another that is replaced whole.

    Raises:
        UserError: it reaches none.
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
        raise UserError(f'{PREFIX}{field}: no field of the config is reached by this{hint}')
    return found


def _paths(held: Any, path: str = '') -> Iterator[str]:
    """Each field that a config holds, at any depth, one that holds others before these."""
    items = (
        held.items() if isinstance(held, Mapping | ConfigDict) else enumerate(held) if isinstance(held, list) else ()
    )
    for key, value in items:
        yield f'{path}{key}'
        yield from _paths(value, f'{path}{key}.')


def _group(config: ConfigDict, names: Sequence[str]) -> '_Group':
    """Return what a config holds below these names, one in the other."""
    return functools.reduce(_Group.below, names, _Group(config, 'config', Experiment, root=config))


@dataclass(frozen=True)
class _Group:
    """Fields that stand together in a config: a part's, a plain dict's, or the items of a list by number.

    Attributes:
        held: the config dict or the list; anything else has no fields.
        path: where it stands, as 'config.model.block'.
        target: the class or function that takes the fields; None where the group is no part.
        hint: type of the field that the group stands in.
        root: the whole config.
    """

    held: Any
    path: str
    target: Any = None
    hint: Any = Any
    root: Any = None

    @functools.cached_property
    def hints(self) -> dict[str, Any]:
        """Type hint of every field that the part takes, left at its default or not."""
        known = {} if self.target is None else fields(self.target, self.hint)
        return {name: hint for name, (hint, _) in known.items()}

    @functools.cached_property
    def keys(self) -> dict[str, str | int]:
        """Name -> key of every field there is or may be; an item of a list has its number for both."""
        if isinstance(self.held, list):
            return {str(number): number for number in range(len(self.held))}
        there = list(self.held) if isinstance(self.held, ConfigDict) else []
        return {name: name for name in (*there, *self.hints)}

    def key(self, name: str) -> str | int:
        """Return the key of a field.

        Raises:
            UserError: there is no such field; the nearest match is named.
        """
        if name not in self.keys:
            raise UserError(f"--{self.path}.{name}: the config has no field '{name}'; {self._meant(name)}")
        return self.keys[name]

    def _meant(self, name: str) -> str:
        """Say which field may have been meant: here by another name, elsewhere by this one, or one spelt alike."""
        if not self.keys:
            return 'there are no fields below it'
        if ours(name) in self.keys:
            return f"did you mean '{ours(name)}'?"
        whole = _Group(self.root, 'config', Experiment, root=self.root)
        places = [f'--{group.path}.{ours(name)}' for group in whole.everywhere() if ours(name) in group.keys]
        if places:
            return f'did you mean {min(places, key=lambda place: place.count("."))}?'
        match = difflib.get_close_matches(name, self.keys, n=1, cutoff=0.5)
        return f"did you mean '{match[0]}'?" if match else f'there are {", ".join(self.keys)}'

    def everywhere(self) -> Iterator['_Group']:
        """Yield these fields, and those below any of them that the config holds."""
        yield self
        held = self.held if isinstance(self.held, ConfigDict) else range(len(self.held)) if self.held else ()
        for key in list(held):
            if isinstance(self.held[key], ConfigDict | list):
                yield from self.below(str(key)).everywhere()

    def value(self, name: str) -> Any:
        """Return what a field holds, or the default that it is left at."""
        key = self.key(name)
        absent = isinstance(self.held, ConfigDict) and key not in self.held
        return defaults(self.target).get(name) if absent else self.held[key]

    def below(self, name: str) -> '_Group':
        """Return the fields below a field. A part that is there by default is written into the config for this."""
        held, path = self.value(name), f'{self.path}.{name}'
        if isinstance(held, Part):
            self.held[name] = spec(held)
            held = self.held[name]
        if isinstance(held, list):  # its dicts become config dicts, which follow references
            held[:] = [ConfigDict(item) if isinstance(item, Mapping) else item for item in held]
        is_part = isinstance(held, ConfigDict) and 'use' in held
        target = load_target(held['use'], f'{path}.use') if is_part else None
        return _Group(held, path, target, self.hints.get(name, Any), self.root)

    def put(self, name: str, text: str) -> None:
        """Read a value from text, as the field's type and what it holds have it, and put it in the config."""
        key, where = self.key(name), f'--{self.path}.{name}'
        value = _parsed(text, self._admitted(key), where)
        require_range(value, self.hints.get(key, Any), where)
        if isinstance(self.held, list):
            self.held[key] = value
        else:
            with self.held.ignore_type():  # it knows the type of the old value, and the field may take others
                self.held[key] = value

    def swap(self, use: str) -> str:
        """Put another class in the place of a part's, with the fields that it has too; return which these are.

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
        """Return what values the field may have: of the types of its hint, and of the one it has."""
        hinted = _kinds(self.hints.get(key, Any))
        if isinstance(self.held, list):
            held = type(self.held[key])
        else:
            held = self.held.get_type(key) if key in self.held else type(None)
        return (hinted | _kinds(held)) - {object} or {object}


def _kinds(hint: Any) -> set[type]:
    """Types of the values that a hint admits, as they stand in a config: a part is a dict, a tuple a list.

    `object` stands for what is not known, and None goes without saying.
    """
    origin, arguments = typing.get_origin(hint) or hint, typing.get_args(hint)
    if origin is typing.Annotated:
        return _kinds(arguments[0])
    if origin in (typing.Union, types.UnionType):
        return set().union(*map(_kinds, arguments))
    if origin is typing.Literal:
        return set(map(type, arguments))
    if origin is tuple and arguments and typing.get_origin(arguments[0]) is tuple:  # pairs of a name and a value
        return {dict}
    kind = _IN_CONFIG.get(origin, origin)
    return set() if kind is type(None) else {kind if kind in (bool, int, float, str, dict, list) else object}


def _parsed(text: str, kinds: set[type], where: str) -> Any:
    """Read a value of one of these types; None unsets a field of any type."""
    if text == 'None':
        return None
    if kinds == {str}:
        return text
    try:
        value = ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        value = text
    value = _unshared(value, where)
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
