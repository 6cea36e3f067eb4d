# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The command `saccade`: run a launcher by its name, as `saccade train` runs launch/train.py.

`saccade completion bash` prints the completion script of a shell; `saccade complete` answers that script's queries.
"""

import ast
import difflib
import os
import re
import shlex
import sys
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from saccade.extras import TRAIN, lacks

CALLED = 'SACCADE_CALLED'  # environment variable, set for launchers that this command runs
_LAUNCHER = re.compile(r'(?:\S*python[\d.]* )?launch/(\w+)\.py')
_SCRIPT = re.compile(r'(?<![\w./-])launch/\w+\.py')


def main() -> None:
    """Run the launcher named by the first argument with the remaining arguments; without one, list the launchers."""
    launchers = _launchers()
    name, *arguments = sys.argv[1:] or ['--help']
    if name in ('--help', '-h', 'help'):
        print('usage: saccade COMMAND --flag=value ...; saccade COMMAND --help lists its flags')
        print('saccade completion bash (or zsh) prints a script with which the shell completes them\n')
        for each, file in launchers.items():
            print(f'  {each:<12} {_summary(file)}')
    elif name == '--version':
        print(f'saccade {version("saccade")}')
    elif name == 'complete':
        from saccade.completion import candidates

        print('\n'.join(candidates(arguments, launchers, ['completion'])))
    elif name == 'completion':
        from saccade.completion import SCRIPTS

        if len(arguments) != 1 or arguments[0] not in SCRIPTS:
            print(f'error: write saccade completion {" or saccade completion ".join(SCRIPTS)}', file=sys.stderr)
            sys.exit(2)
        print(SCRIPTS[arguments[0]], end='')
    elif name in launchers and (words := lacks(TRAIN, f'saccade {name}')):
        print(f'error: {words}', file=sys.stderr)
        sys.exit(2)
    elif name in launchers:
        os.environ[CALLED] = '1'
        os.execv(sys.executable, [sys.executable, str(launchers[name]), *arguments])
    else:
        match = difflib.get_close_matches(name, [*launchers, 'completion'], n=1)
        hint = f"; did you mean '{match[0]}'?" if match else ''
        print(f"error: unknown command '{name}'{hint} (saccade --help lists the commands)", file=sys.stderr)
        sys.exit(2)


def as_called(text: str) -> str:
    """Return a text with its commands in the form in which this process was called: `saccade NAME`, or the script in
    the folder that was named.
    """
    if os.environ.get(CALLED):
        return _LAUNCHER.sub(r'saccade \1', text)
    folder = Path(sys.argv[0]).parent
    if folder.name != 'launch':
        return text
    return _SCRIPT.sub(lambda found: shlex.quote(str(folder.parent / found[0])), text)


def _launchers() -> dict[str, Path]:
    """Return the files of the launchers, by name."""
    folder = Path(str(files('saccade.launch')))
    return {file.stem: file for file in sorted(folder.glob('[a-z]*.py'))}


def _summary(file: Path) -> str:
    """Return the first sentence of a launcher's docstring."""
    words = ast.get_docstring(ast.parse(file.read_text(encoding='utf-8'))) or ''
    return ' '.join(words.split('\n\n')[0].split()).partition(': ')[0].rstrip('.')
