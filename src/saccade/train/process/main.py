# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Entry point of the launchers: parse the flags, make one call, and print a user's mistake as one line."""

import difflib
import math
import os
import shlex
import sys
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NoReturn

from absl import app, flags, logging

from saccade.commands import as_called
from saccade.train.process.memory import keep_freed_memory
from saccade.train.process.terminal import in_one_line
from saccade.trust import trust, trusted
from saccade.types import UserError

TRUST = flags.DEFINE_list(
    'trust',
    [],
    'Names, as my_lab.attention:Mine, or modules of your own, as my_lab, that the run or the opened checkpoint '
    'may import; their code is executed.',
)


Main = Callable[[Sequence[str]], None]


def run_main(main: Main, commands: Mapping[str, Main] = MappingProxyType({})) -> None:
    """Parse the flags and call `main`, or the command named first, with the config overrides among the arguments.

    A UserError is printed in one line, and the exit status is 2. For Ctrl-C a line is printed too, and the status is
    130. The working directory is on the import path if the command names parts of the user's own: in a config that is
    launched, or by `--trust`.
    """
    keep_freed_memory()  # before JAX has threads
    flags.FLAGS.register_key_flag_for_module(sys.argv[0], flags.FLAGS['trust'])  # so that --help has it
    logging.set_verbosity(logging.WARNING)
    if not sys.warnoptions:  # these warnings are for the authors of libraries; our tests enable them
        warnings.simplefilter('ignore', DeprecationWarning)

    def guarded(arguments: Sequence[str]) -> None:
        from saccade.train.process.compilation_cache import use_compilation_cache

        try:
            trust(TRUST.value)
            named = trusted() or getattr(flags.FLAGS, 'config', None)
            if named and os.getcwd() not in sys.path:  # when a worker runs this again
                sys.path.append(os.getcwd())
            use_compilation_cache()
            rest = list(arguments[1:])
            command = commands.get(rest[0]) if rest else None
            if command is not None:
                rest.pop(0)
            elif rest and commands and not rest[0].startswith('-'):
                raise UserError(f"there is no command '{rest[0]}', but {', '.join(commands)}")
            (command or main)(_overrides(rest))
        except UserError as error:
            _refuse(as_called(in_one_line(str(error))))
        except (RuntimeError, AssertionError) as error:
            frames = traceback.extract_tb(error.__traceback__)
            if 'JAX_PLATFORMS' not in os.environ or os.path.basename(frames[-1].filename) != 'xla_bridge.py':
                raise
            platforms = os.environ['JAX_PLATFORMS']  # JAX found none of them at its first search for devices
            _refuse(
                f'JAX_PLATFORMS={platforms}: there is no such device here, or no JAX for it; unset it, or write cpu'
            )

    try:
        app.run(guarded, flags_parser=_parse)
    except BrokenPipeError:  # the reader of the output has ended, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except KeyboardInterrupt:
        print('stopped by Ctrl-C', file=sys.stderr)
        sys.exit(130)


def _parse(arguments: Sequence[str]) -> list[str]:
    try:
        for argument in arguments:
            if any('\ud800' <= letter <= '\udfff' for letter in argument):
                raise flags.Error(f'{argument!a} is not text in UTF-8')
        return flags.FLAGS(arguments, known_only=True)
    except flags.Error as error:
        _refuse(in_one_line(str(error)))
    except SystemExit:  # absl ends --help with 1
        sys.exit(0)


def _refuse(message: str) -> NoReturn:
    print(f'error: {message}', file=sys.stderr)
    sys.exit(2)


def _overrides(arguments: Sequence[str]) -> list[str]:
    from saccade.build import shortened
    from saccade.train.config import PREFIX

    for name, value in flags.FLAGS.flag_values_dict().items():
        if isinstance(value, float) and not math.isfinite(value):
            raise UserError(f'--{name}={value}: must be a finite number')
    for before, argument in zip(('', *arguments), arguments, strict=False):
        if argument.startswith(PREFIX):
            continue
        if before.startswith(PREFIX) and '=' not in before:
            raise UserError(f'write {before}={argument}: a value follows its field after =, not after a space')
        if not argument.startswith('-'):
            raise UserError(
                f'{shortened(argument)} is not a flag; write flags as --name=value and overrides as {PREFIX}field=value'
            )
        raise UserError(f'there is no flag {shortened(argument)}{_meant(argument)}')
    return list(arguments)


def _meant(argument: str) -> str:
    """Return a suggestion for an unknown flag: an override of the config's field of this name, or a similar flag."""
    from saccade.train.config import field_called

    name, _, value = argument.lstrip('-').partition('=')
    field = field_called(name, flags.FLAGS['config'].value) if 'config' in flags.FLAGS else None
    if field is not None:
        return f'; write --{field}={shlex.quote(value) if value else "VALUE"}'
    match = difflib.get_close_matches(name, list(flags.FLAGS), n=1)
    return f"; did you mean '--{match[0]}'?" if match else '; --help lists the flags'
