# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Flags shared by launchers, and checks of given flags: no flag without effect, no empty text."""

from pathlib import Path

from absl.flags import FlagHolder

from saccade.paths import expanded
from saccade.types import UserError

CHECKPOINTS = ('latest', 'best', 'average')  # checkpoints of a run, the values of --checkpoint
DTYPES = ('float32', 'bfloat16')  # of parameters and computation, the values of --dtype


def path_of(flag: str, path: str) -> Path:
    """Return the path that a flag gives, with `~` replaced by the home folder.

    Raises:
        UserError: as for `expanded`; the message names the flag.
    """
    try:
        return expanded(path)
    except UserError as error:
        raise UserError(f'--{flag}={error}') from None


def refuse_given(where: str, *flags: FlagHolder) -> None:
    """Refuse flags on the command line that have no effect.

    Args:
        where: condition under which they have no effect, as in 'without --beams'.

    Raises:
        UserError: at least one of the flags was given.
    """
    given = [f'--{flag.name}' for flag in flags if flag.present]
    if given:
        raise UserError(f'{" and ".join(given)} {"have" if len(given) > 1 else "has"} no effect {where}')


def require_content(*flags: FlagHolder) -> None:
    """Refuse flags on the command line with a text that is empty or only white space.

    Raises:
        UserError: one of the flags was given without content.
    """
    for flag in flags:
        texts = [flag.value] if isinstance(flag.value, str) else flag.value or ['']
        if flag.present and not all(map(str.strip, texts)):
            raise UserError(f'--{flag.name} is empty: write --{flag.name}="...", or leave it out')


def require_files(*flags: FlagHolder) -> None:
    """Refuse flags on the command line that name a file that does not exist.

    Raises:
        UserError: a file does not exist; the message names the first one.
    """
    for flag in flags:
        for path in [flag.value] if isinstance(flag.value, str) else flag.value or ():
            if not path_of(flag.name, path).exists():
                raise UserError(f'{path}: there is no such file')
