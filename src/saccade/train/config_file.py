# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Files of configs, sweeps and suites: Python files that define a function, and configs written as JSON or YAML.

    --config=experiments/causal_lm/quickstart.py      get_config() of a file; shipped ones also as causal_lm/quickstart
    --config=mine.py:large                            get_config('large')
    --config=runs/a/config.json                       the resolved config of a run
    --config=mine.yaml                                the same tree, written by hand

A Python file is the user's own program. JSON and YAML are data: they may name only parts of Saccade, and code that
`--trust` names.
"""

import difflib
import itertools
import json
import re
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.resources import files
from inspect import Parameter, signature
from os.path import isfile
from pathlib import Path
from typing import Any

import yaml
from ml_collections import ConfigDict

from saccade.build import shortened
from saccade.paths import read_text
from saccade.train.format import without_number
from saccade.train.process.given import path_of
from saccade.trust import require_trusted
from saccade.types import UserError

RESOLVED = '.json'  # suffix of configs with every field computed, as runs and --print_config write them
_FOLDERS = itertools.count()  # a config file may load another
_DEEPEST = 100  # levels of a config
_BY_PLACE = Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD, Parameter.VAR_POSITIONAL


class _Yaml(yaml.SafeLoader):
    """Loader of YAML that reads 1e-3 as a number, as YAML 1.2 does; PyYAML's own needs a point in it."""


_Yaml.add_implicit_resolver('tag:yaml.org,2002:float', re.compile(r'[-+]?[0-9]+[eE][-+]?[0-9]+$'), list('-+0123456789'))
_DATA: dict[str, Callable[[str], Any]] = {
    RESOLVED: json.loads,
    '.yaml': lambda text: yaml.load(text, _Yaml),
    '.yml': lambda text: yaml.load(text, _Yaml),
}


def read_config(path: str) -> ConfigDict:
    """Return the config of a file, before overrides.

    Raises:
        UserError: as for `run_file`; or the file is not valid JSON or YAML, names code that is not trusted, or does
            not hold a config.
    """
    read = _DATA.get(Path(path).suffix)
    config = _written(path, read) if read else run_file('config', path, 'get_config')[0]
    if not isinstance(config, Mapping | ConfigDict):
        source = 'it must hold the fields of a config' if read else 'get_config() must return a ConfigDict'
        raise UserError(f'--config={path}: {source}, not {shortened(config)}')
    return config if isinstance(config, ConfigDict) else ConfigDict(config)


def _written(path: str, read: Callable[[str], Any]) -> Any:
    """Return the content of a file of data."""
    where = f'--config={path}'
    try:
        config = read(read_text(path_of('config', path)))
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        raise UserError(f'{where}: there is no such file') from None
    except OSError as error:
        raise UserError(f'{where}: cannot be read ({error.strerror})') from error
    except yaml.MarkedYAMLError as error:
        place = f'line {error.problem_mark.line + 1}: ' if error.problem_mark else ''
        raise UserError(f'{where}: {place}not YAML: {error.problem}') from None
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        reason = 'nested too deep' if isinstance(error, RecursionError) else ' '.join(str(error).split())
        raise UserError(f'{where}: not {Path(path).suffix[1:].upper()}: {reason}') from None
    config = unshared(config, where)
    config = without_number(config, where) if isinstance(config, Mapping) else config
    require_trusted(config, where)
    return config


def run_file(flag: str, path: str, function: str) -> tuple[Any, str]:
    """Run the Python file of a flag; return a copy of its function's result, and the file's docstring.

    The file may import installed modules, including `saccade.experiments`, and files next to it (`from .base import
    x`).

    Args:
        path: the file, and after a colon the text that the function takes, if it takes one: FILE.py:TEXT.

    Raises:
        UserError: no file can have this path, or the file does not exist, is not Python, imports a missing module, or
            does not define the function; the function takes other arguments, or returns an invalid config.
    """
    where, (path, argument) = f'--{flag}={path}', _with_argument(flag, path)
    path = _resolved_path(flag, path)
    if Path(path).suffix in _DATA:
        raise UserError(f'{where}: a Python file that defines {function}() is needed')
    code = _compiled(where, path)
    with _package_of(Path(path)) as package:
        names = {'__name__': f'{package}.__config__', '__package__': package, '__file__': path}
        try:
            exec(code, names)
            returned = _called(where, names, function, argument)
        except SystemExit:
            raise UserError(f'{where}: it exits the program; it must define {function}() and return') from None
        except SyntaxError as error:  # in a file that it imports
            place = f'{Path(error.filename).name}: line {error.lineno}: ' if error.filename else ''
            raise UserError(f'{where}: {place}{error.msg}') from None
        except ImportError as error:
            said = str(error).replace(f'{package}.', '.')
            raise UserError(
                f'{where}: {said}; it may import installed modules, and a file next to it by `from .name import ...`'
            ) from error
        return unshared(returned, f'{where}: {function}()'), names.get('__doc__') or ''


def _with_argument(flag: str, path: str) -> tuple[str, str | None]:
    """Split FILE.py:TEXT into the file and the text, unless a file has this whole name."""
    file, colon, argument = path.partition(':')
    return (file, argument) if colon and not path_of(flag, path).exists() else (path, None)


def _called(where: str, names: Mapping[str, Any], function: str, argument: str | None) -> Any:
    """Call the function that a file defines, with the argument if there is one.

    Raises:
        UserError: the file does not define it, or it takes other arguments.
    """
    if not callable(names.get(function)):
        raise UserError(f'{where}: it defines no {function}()')
    parameters = signature(names[function]).parameters.values()
    needed = [parameter.name for parameter in parameters if _is_needed(parameter)]
    if len(needed) > 1:
        raise UserError(f'{where}: {function}() must take at most one argument; it needs {", ".join(needed)}')
    if argument is None and needed:
        raise UserError(f'{where}: {function}() needs {needed[0]}; write {where}:{needed[0].upper()}')
    if argument is not None and not any(parameter.kind in _BY_PLACE for parameter in parameters):
        raise UserError(f'{where}: {function}() takes no argument')
    return names[function](*([] if argument is None else [argument]))


def _resolved_path(flag: str, path: str) -> str:
    """Return the path of a file: as given, or of a shipped one by name: causal_lm/quickstart, heads for a sweep.

    Raises:
        UserError: no file can have this path.
    """
    whole = path_of(flag, path)
    if whole.exists():
        return str(whole)
    shipped = Path(str(files('saccade.experiments')))
    name = f'{path.removeprefix("experiments/").removesuffix(".py")}.py'
    folders = (shipped, shipped / f'{flag}s')  # sweeps/ and suites/ for --sweep and --suite
    return next((str(folder / name) for folder in folders if isfile(folder / name)), path)


def _compiled(where: str, path: str) -> types.CodeType:
    try:
        return compile(Path(path).read_bytes(), path, 'exec')
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        raise UserError(f'{where}: there is no such file; those we ship are under experiments/{_near(path)}') from None
    except OSError as error:
        raise UserError(f'{where}: cannot be read ({error.strerror})') from error
    except SyntaxError as error:
        place = f'{Path(path).name}: line {error.lineno}: ' if error.lineno else 'not Python: '
        raise UserError(f'{where}: {place}{error.msg}') from None
    except (ValueError, OverflowError, MemoryError, RecursionError) as error:
        raise UserError(f'{where}: not Python: {error or "nested too deep"}') from None


def _is_needed(parameter: Parameter) -> bool:
    return parameter.default is Parameter.empty and parameter.kind not in (
        Parameter.VAR_POSITIONAL,
        Parameter.VAR_KEYWORD,
    )


def _near(path: str) -> str:
    """Return a suggestion for a message: the shipped experiment with the most similar name, or ''."""
    shipped = Path(str(files('saccade.experiments')))
    names = [str(file.relative_to(shipped).with_suffix('')) for file in shipped.glob('*/[a-z]*.py')]
    match = difflib.get_close_matches(path.removeprefix('experiments/').removesuffix('.py'), names, n=1)
    return f"; did you mean '{match[0]}'?" if match else ''


@contextmanager
def _package_of(file: Path) -> Iterator[str]:
    """Context with a package whose modules are the files next to this one; they are unloaded after it."""
    package = types.ModuleType(f'saccade_config_files_{next(_FOLDERS)}')
    package.__path__ = [str(file.resolve().parent)]
    sys.modules[package.__name__] = package
    try:
        yield package.__name__
    finally:
        for name in [name for name in sys.modules if name.partition('.')[0] == package.__name__]:
            del sys.modules[name]


def unshared(value: Any, where: str, above: tuple[int, ...] = ()) -> Any:
    """Return a copy in which no config object is shared, since a file may use one in several places.

    Otherwise an override of one would change all. References are the way to change several together.

    Args:
        where: place of the value, for messages.
        above: identities of the containers of the value.

    Raises:
        UserError: a container contains itself or is nested too deep, or a key is not text.
    """
    if not isinstance(value, ConfigDict | dict | list | tuple):
        return value
    if id(value) in above or len(above) == _DEEPEST:
        raise UserError(f'{where}: it contains itself, or is nested more than {_DEEPEST} deep')
    above = (*above, id(value))
    if isinstance(value, list | tuple):
        return [unshared(held, f'{where}[{number}]', above) for number, held in enumerate(value)]
    items = value.items(preserve_field_references=True) if isinstance(value, ConfigDict) else value.items()
    for key, _ in items:
        if not isinstance(key, str):
            raise UserError(f'{where}: the name of a field must be text, not {shortened(key)}')
    made = ConfigDict if isinstance(value, ConfigDict) else dict
    return made({key: unshared(held, f'{where}.{key}', above) for key, held in items})
