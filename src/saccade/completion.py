# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Completion of the command `saccade` in bash and zsh: commands, flags, experiments, parts, and fields of a config.

It answers while somebody types, so it reads the sources of launchers and parts and does not import JAX. A config's
fields are those that its file writes down; fields that it leaves at their defaults are listed by --config.help.
"""

import ast
import runpy
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from ml_collections import ConfigDict

from saccade.parts import parts

# Where a shell shows nothing else, it shows files. It takes `=` and `.` as the end of a word that goes on; readline
# completes what follows the last `=` or `:`.
SCRIPTS = {
    'bash': """\
_saccade() {
    local line=${COMP_LINE:0:COMP_POINT} words
    read -ra words <<< "$line"
    [[ $line == *' ' ]] && words+=('')
    mapfile -t COMPREPLY < <(saccade complete "${words[@]:1}" 2>/dev/null)
    [[ ${COMPREPLY[0]} == *[=.] ]] && compopt -o nospace
    local typed=${words[-1]}
    local before=${typed%"${typed##*[=:]}"}
    COMPREPLY=("${COMPREPLY[@]#"$before"}")
}
complete -o default -F _saccade saccade
""",
    'zsh': """\
#compdef saccade
_saccade() {
    local -a found
    found=(${(f)"$(saccade complete "${(@)words[2,CURRENT]}" 2>/dev/null)"})
    if (( $#found )); then
        compadd -S '' -- ${(M)found:#*[=.]}
        compadd -- ${found:#*[=.]}
    else
        compset -P '*='
        _files
    fi
}
compdef _saccade saccade
""",
}
_PREFIX = '--config.'
_OF_A_PART = 'fields'  # the launcher whose first word is a part


def candidates(words: Sequence[str], launchers: Mapping[str, Path], others: Sequence[str] = ()) -> list[str]:
    """Return completions of the last word; the words are those after `saccade`.

    Args:
        launchers: files by name.
        others: commands other than launchers.
    """
    *before, last = words or ['']
    if not before:
        found = [*launchers, *others]
    elif before[0] not in launchers:
        found = list(SCRIPTS) if before == ['completion'] else []
    elif last.startswith(_PREFIX):
        found = _fields(before, last)
    elif last.startswith('--config='):
        found = [f'--config={name}' for name in _experiments('get_config')]
    elif last.startswith('--sweep='):
        found = [f'--sweep={name.removeprefix("sweeps/")}' for name in _experiments('get_sweep')]
    elif before == [_OF_A_PART] and not last.startswith('-'):
        found = [f'{module}:{name}' for module, names in parts().items() for name in names]
    else:
        shared = Path(str(files('saccade'))) / 'train/process/main.py'
        found = sorted({*_flags(launchers[before[0]]), *_flags(shared)})
        found += [_PREFIX] if '--config=' in found else []
    return [candidate for candidate in found if candidate.startswith(last)]


def _experiments(function: str) -> list[str]:
    """Return the names of the installed experiment files that define a function, as --config and --sweep take them."""
    folder = Path(str(files('saccade.experiments')))
    found = [file for file in folder.glob('*/[a-z]*.py') if f'\ndef {function}(' in file.read_text(encoding='utf-8')]
    return sorted(file.relative_to(folder).with_suffix('').as_posix() for file in found)


def _flags(file: Path) -> Iterator[str]:
    """Yield the flags that a file defines; flags with a value end in =."""
    for node in ast.walk(ast.parse(file.read_text(encoding='utf-8'))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr.startswith('DEFINE_'):
            yield f'--{ast.literal_eval(node.args[0])}{"" if "bool" in node.func.attr else "="}'


def _fields(before: Sequence[str], last: str) -> list[str]:
    """Return the fields one level below the last dot of a word, in the config that an earlier word names."""
    named = [word.removeprefix('--config=') for word in before if word.startswith('--config=')]
    held = _config(named[-1]) if named else None
    above = last.rpartition('.')[0]
    for name in above.split('.')[1:]:
        held = _items(held).get(name)
    return [f'{above}.{name}{"." if _items(value) else "="}' for name, value in _items(held).items() if name != 'use']


def _config(name: str) -> Any:
    """Return the result of get_config() of a file or of an installed experiment; None where it fails."""
    try:
        shipped = (
            Path(str(files('saccade.experiments'))) / f'{name.removeprefix("experiments/").removesuffix(".py")}.py'
        )
        return runpy.run_path(name if Path(name).is_file() else str(shipped))['get_config']()
    except Exception:  # any error of the experiment's author; the launcher reports it
        return None


def _items(held: Any) -> Mapping[str, Any]:
    """Return fields by name, from a dict, or from a list by index."""
    if isinstance(held, list | tuple):
        return {str(number): value for number, value in enumerate(held)}
    return dict(held.items()) if isinstance(held, Mapping | ConfigDict) else {}
