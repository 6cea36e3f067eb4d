# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Building of parts: a config's nested specs become nested parts.

A spec is a dict with `use`, the import path of a class or function, and its arguments by name. A path that
starts with one of Saccade's own packages is looked up there; any other is imported as written, so a variant
may live in the user's own repository.
"""

import difflib
import functools
import importlib
import inspect
import itertools
import math
import os
import pkgutil
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import flax.linen as nn
from beartype import BeartypeConf
from beartype.door import is_bearable
from ml_collections import ConfigDict, FieldReference
from typing_extensions import get_protocol_members

import saccade
from saccade.nearest import nearest, part_called, parts_called
from saccade.types import Part, Range, Scales, UserError

_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_INT_IS_FLOAT = BeartypeConf(is_pep484_tower=True)
_LINEN_OWN = ('parent', 'name')  # fields of every Linen module, which are not the config's to give
_BITS = 32  # of a whole number: JAX has no more of a seed, and none of a size
_SHOWN = 200  # characters of a value in a message
_MEANT = 3  # suggestions in a message
_SHARED_BY_PARTS = 'base'  # how the names of files end that hold what parts inherit


def build(spec: Any, path: str = 'config', hint: Any = Any) -> Part:
    """Turn one spec, and those nested in it, into a part.

    Args:
        spec: a dict with `use`.
        path: of the spec in the config, for error messages.
        hint: type of the field that takes the part, as `fields` has it.

    Raises:
        UserError: `use` is missing or cannot be imported; a key is unknown, missing or of the wrong type.
    """
    spec = plain(spec)
    if not isinstance(spec, dict) or 'use' not in spec:
        raise UserError(f"{path}: a part needs 'use', the import path of a class, as in 'norm.rms:RMSNorm'")
    target = load_target(spec['use'], f'{path}.use')
    return bind(target, {key: value for key, value in spec.items() if key != 'use'}, path, hint)


def part_of(spec: Mapping[str, Any]) -> Part:
    """Return the part of a spec, as in a config: a dict with `use` and the part's fields."""
    return build(spec, 'spec')


def bind(target: Any, arguments: Mapping[str, Any], path: str = 'config', hint: Any = Any) -> Part:
    """Check arguments against the target's own signature and return the part.

    Raises:
        UserError: a key is unknown, missing or of the wrong type.
    """
    known = fields(target, hint)
    label = _label(target)
    _refuse_unknown(arguments, known, label, path)
    built = {key: _value(value, f'{path}.{key}', known[key][0]) for key, value in arguments.items()}
    for key, value in built.items():
        _check(value, known[key][0], f'{path}.{key}', label)
    if isinstance(target, type) or _given(hint) is not None:  # else the caller gives what is missing
        for key, (_, required) in known.items():
            if required and key not in built:
                raise UserError(f'{path}.{key}: missing; {label} needs it')
    return Part(target, tuple(sorted(built.items())))


def plain(value: Any) -> Any:
    """Resolve references and config dicts to plain values, all the way down."""
    if isinstance(value, FieldReference):
        return plain(value.get())
    if isinstance(value, Mapping | ConfigDict):
        items = value.items(preserve_field_references=False) if isinstance(value, ConfigDict) else value.items()
        return {key: plain(item) for key, item in items}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def load(use: Any, path: str = 'use') -> Any:
    """Import the class or function that `use` names.

    Raises:
        UserError: there is no such module, or no such name in it; the nearest match is named.
    """
    module_name, _, name = str(use).partition(':')
    if not name or not module_name or module_name.startswith('.'):
        meant = ' or '.join(f"'{part}'" for part in parts_called(str(use))[:_MEANT])
        hint = f'did you mean {meant}?' if meant else "write 'module:Class', as in 'norm.rms:RMSNorm'"
        raise UserError(f"{path}: '{use}' names no class; {hint}")
    meant = part_called(str(use))
    module = _import(module_name, path, f"; did you mean '{meant}'?" if meant else '')
    if not hasattr(module, name):
        own = [key for key, value in vars(module).items() if getattr(value, '__module__', '') == module.__name__]
        raise UserError(f"{path}: {module_name} has no '{name}'{nearest(name, own)}")
    return getattr(module, name)


def load_target(use: Any, path: str = 'use') -> Any:
    """Import what a part is made by.

    Raises:
        UserError: as `load`; or it is neither a class nor a function.
    """
    target = load(use, path)
    if not callable(target):
        raise UserError(f'{path}: {use} is no class or function, but {target!r}')
    return target


def modules(package: str) -> Iterator[types.ModuleType]:
    """Import the files of one of Saccade's own packages, less those that only hold what the others inherit.

    A module counts as a package of one file.
    """
    found = importlib.import_module(f'saccade.{package}')
    if not hasattr(found, '__path__'):
        yield found
    for file in pkgutil.iter_modules(getattr(found, '__path__', ())):
        if file.name.split('_')[-1] != _SHARED_BY_PARTS:
            yield importlib.import_module(f'{found.__name__}.{file.name}')


def all_modules(package: str) -> Iterator[types.ModuleType]:
    """Import every file of one of Saccade's own packages, and of the packages within it."""
    found = importlib.import_module(f'saccade.{package}')
    for file in pkgutil.walk_packages(found.__path__, f'{found.__name__}.'):
        yield importlib.import_module(file.name)


def fields(target: Any, hint: Any = Any) -> dict[str, tuple[Any, bool]]:
    """Name -> (type hint, is required) of everything that a config may pass.

    Args:
        hint: type of the field that takes the part. `Part[Callable[[A], B]]` is a function of what its caller gives it,
            an A, to which a config passes all other arguments. Without a hint the caller may give any of them.
    """
    hints = _hints(target)
    own = _LINEN_OWN if isinstance(target, type) and issubclass(target, nn.Module) else ()
    own += getattr(target, 'python_only', ())
    return {
        parameter.name: (hints.get(parameter.name, Any), parameter.default is inspect.Parameter.empty)
        for parameter in _parameters(target)[_given(hint) or 0 :]
        if parameter.name not in own and parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    }


def defaults(target: Any) -> dict[str, Any]:
    """Name -> value of what a config may leave out."""
    given = {parameter.name: parameter.default for parameter in _parameters(target)}
    return {name: value for name, value in given.items() if value is not inspect.Parameter.empty}


def lacking(target: Any, protocol: type) -> list[str]:
    """All that keeps the instances of a class, or what a function returns, from being of a protocol.

    A class that inherits all of it, and cannot do it, says so in its `why_not`.
    """
    made = target if isinstance(target, type) else _hints(target).get('return')
    if not isinstance(made, type):  # a function that does not say what it makes
        return []
    missing = []
    for name in sorted(get_protocol_members(protocol)):
        wanted, given = _own(protocol, name), _own(made, name)
        if callable(wanted) and not _callable_alike(given, wanted):
            missing.append(f'it has no {name}({", ".join(parameter.name for parameter in _parameters(wanted)[1:])})')
        if not callable(wanted) and given is None and name not in _hints(made):
            missing.append(f"it has no '{name}'")
    if protocol.__name__ in getattr(made, 'why_not', {}):
        missing.append('it is declared to be none')
    return missing


def refused(part: Part, protocol: type) -> str:
    """Message that a part does not satisfy a protocol, with the reason that its class gives under `why_not`."""
    reason = getattr(part.target, 'why_not', {}).get(protocol.__name__)
    article = 'an' if protocol.__name__[0] in 'AEIOU' else 'a'
    return f'{part.name} is not {article} {protocol.__name__}' + (f', as {reason}' if reason else '')


def _import(name: str, path: str, meant: str = '') -> types.ModuleType:
    """Import a module; `meant` is what to say where there is none."""
    full = f'saccade.{name}' if name.partition('.')[0] in _packages() else name
    try:
        return importlib.import_module(full)
    except ModuleNotFoundError as error:
        if error.name is None or not (full == error.name or full.startswith(f'{error.name}.')):
            raise UserError(f"{path}: importing '{name}' failed: {error}") from error
        raise UserError(f"{path}: there is no module '{name}'{meant or _instead_of(full, name)}") from None


@functools.cache
def _packages() -> frozenset[str]:
    """Names of our own packages and modules."""
    return frozenset(module.name for module in pkgutil.iter_modules(saccade.__path__))


def _instead_of(full: str, name: str) -> str:
    """Return the words of a message on the module that may have been meant by one that does not exist.

    A name without a package is of a module of the user's own, in the working directory or on the path of Python.
    """
    parent = full.rpartition('.')[0]
    if not parent:
        folders = [os.getcwd(), *filter(None, os.environ.get('PYTHONPATH', '').split(os.pathsep))]
        own = [module.name for module in pkgutil.iter_modules(folders)]
        if name in own:
            return '; it is in the working directory, so set PYTHONPATH=.'
        close = difflib.get_close_matches(name, own, n=1)
        return f"; did you mean '{close[0]}'?" if close else '; run in its folder, or set PYTHONPATH to it'
    try:
        package = importlib.import_module(parent)
    except ImportError:
        package = saccade
    found = [module.name for module in pkgutil.walk_packages(getattr(package, '__path__', []), f'{package.__name__}.')]
    parts = (module for module in found if module.rpartition('.')[2].split('_')[-1] != _SHARED_BY_PARTS)
    return nearest(name, [module.removeprefix('saccade.') for module in parts])


@functools.cache
def _hints(target: Any) -> dict[str, Any]:
    try:
        return typing.get_type_hints(target, include_extras=True)
    except (
        NameError,
        TypeError,
    ):  # foreign code may be annotated with names that exist only for type checkers
        return {}


def _refuse_unknown(arguments: Mapping[str, Any], fields: Mapping[str, Any], label: str, path: str) -> None:
    for key in arguments:
        if key not in fields:
            raise UserError(f"{path}.{key}: {label} has no field '{key}'{nearest(key, fields)}")


@functools.cache
def _parameters(target: Any) -> tuple[inspect.Parameter, ...]:
    return tuple(inspect.signature(target).parameters.values())


def _given(hint: Any) -> int | None:
    """Number of arguments that the caller of a part gives it, by the hint's `Part[Callable]`; None without a hint."""
    arguments = typing.get_args(hint)
    if typing.get_origin(hint) is not Part:
        return next((count for count in map(_given, arguments) if count is not None), None)
    taken = typing.get_args(arguments[0]) if typing.get_origin(arguments[0]) is Callable else ()
    return len(taken[0]) if taken and isinstance(taken[0], list) else None


def _value(value: Any, path: str, hint: Any) -> Any:
    if isinstance(value, Mapping):
        return build(value, path, hint) if 'use' in value else _frozen(value, path, hint)
    if isinstance(value, list | tuple):
        return tuple(_value(item, f'{path}[{number}]', hint) for number, item in enumerate(value))
    return value


def _frozen(value: Mapping[str, Any], path: str, hint: Any) -> tuple[tuple[str, Any], ...]:
    """A plain dict as its sorted items, so that the part that holds it can be hashed."""
    return tuple(sorted((key, _value(item, f'{path}.{key}', hint)) for key, item in value.items()))


def _check(value: Any, hint: Any, path: str, label: str) -> None:
    if not _fits(value, hint):
        shown = value.name if isinstance(value, Part) else shortened(value)
        raise UserError(f'{path}: {label} wants {_words(hint)}, not {shown}')
    require_range(value, hint, path)
    for part in value if isinstance(value, tuple) else (value,):
        if isinstance(part, Part):
            _check_protocols(part, _protocols(hint), path)


def require_range(value: Any, hint: Any, path: str) -> None:
    """Refuse a number outside the range that its type states, at any depth of a tuple, and one that is not finite."""
    if isinstance(value, tuple):
        kinds = [kind for kind in _alternatives(hint) if typing.get_origin(kind) is tuple and _fits(value, kind)]
        items = typing.get_args(kinds[0]) if kinds else ()
        items = itertools.repeat(items[0]) if Ellipsis in items else items
        for number, (item, kind) in enumerate(zip(value, items, strict=False)):
            require_range(item, kind, f'{path}[{number}]')
    if isinstance(value, float) and not math.isfinite(value):
        raise UserError(f'{path} must be a finite number, not {value}')
    if isinstance(value, int) and value.bit_length() > _BITS:
        raise UserError(f'{path} must be a number of at most {_BITS} bits, not {shortened(value)}')
    stated = [each for kind in _alternatives(hint) for each in getattr(kind, '__metadata__', ())]
    for bounds in stated:
        if isinstance(value, int | float) and isinstance(bounds, Range) and value not in bounds:
            raise UserError(f'{path} must be {bounds}, not {shortened(value)}')


def _alternatives(hint: Any) -> tuple[Any, ...]:
    """The types that a union is of; any other type alone."""
    return typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)


def shortened(value: Any) -> str:
    """A value as a message shows it: of what is long, the beginning."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an integer of thousands of digits, or what is nested too deep
        return f'so large a {type(value).__name__}'
    return text if len(text) <= _SHOWN else f'{text[:_SHOWN]}...'


def _fits(value: Any, hint: Any) -> bool:
    """True if a value is of a type. A bool is no number, and every item of a tuple counts."""
    if isinstance(value, bool) and hint is not Any and bool not in (hint, *typing.get_args(hint)):
        return False
    # A tuple of any length is checked at one item, chosen at random: so each item goes in alone.
    alone = [(item,) for item in value] if isinstance(value, tuple) and _any_length(hint) else []
    return all(is_bearable(one, hint, conf=_INT_IS_FLOAT) for one in (value, *alone))


def _any_length(hint: Any) -> bool:
    """True if a hint is, or admits, a tuple of any length."""
    return Ellipsis in typing.get_args(hint) or any(map(_any_length, typing.get_args(hint)))


def _protocols(hint: Any) -> list[type]:
    """The protocols named in Part[...], at any depth of a hint."""
    arguments = typing.get_args(hint)
    if typing.get_origin(hint) is Part:
        return [arguments[0]] if getattr(arguments[0], '_is_protocol', False) else []
    return [protocol for argument in arguments for protocol in _protocols(argument)]


def _check_protocols(part: Part, protocols: list[type], path: str) -> None:
    """Refuse a part that satisfies none of the protocols; the first says what is missing."""
    missing = [lacking(part.target, protocol) for protocol in protocols]
    if protocols and all(missing):
        raise UserError(f'{path}: {refused(part, protocols[0])}: {missing[0][0]}')


def _own(made: type, name: str) -> Any:
    """An attribute of a class that is not its metaclass's: every class is callable, its instances may not be."""
    return next((vars(base)[name] for base in made.__mro__ if name in vars(base)), None)


def _callable_alike(given: Any, wanted: Any) -> bool:
    """True if `given` takes every argument of `wanted` by name and requires no other."""
    if not callable(given):
        return False
    names = {parameter.name for parameter in _parameters(wanted)}
    parameters = _parameters(given)
    variadic = [parameter.name for parameter in parameters if parameter.kind in _VARIADIC]
    required = {parameter.name for parameter in parameters if parameter.default is parameter.empty} - set(variadic)
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    return required <= names and (takes_any or names <= {parameter.name for parameter in parameters})


def _words(hint: Any) -> str:
    if hint is Part or typing.get_origin(hint) is Part:
        kinds = [f' ({_words(kind)})' for kind in typing.get_args(hint) if isinstance(kind, type)]
        return f"a part{''.join(kinds)}: a dict with 'use'"
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return ' or '.join(sorted(map(_words, typing.get_args(hint)), key=lambda words: words.endswith("'use'")))
    if typing.get_origin(hint) is typing.Literal:
        return ' or '.join(map(repr, typing.get_args(hint)))
    if hint is type(None):
        return 'None'
    if hasattr(hint, '__metadata__'):  # its range is checked after its type, and no config has a traced array
        return _words(_alternatives(typing.get_args(hint)[0])[0] if Scales in hint.__metadata__ else hint.__origin__)
    return (
        hint.__name__
        if isinstance(hint, type) and not typing.get_args(hint)
        else str(hint).replace('saccade.types.', '')
    )


def _label(target: Any) -> str:
    return Part(target).name
