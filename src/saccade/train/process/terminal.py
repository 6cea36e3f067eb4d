# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Terminal output of untrusted text: rich's markup and control characters in it have no effect.

Paths, labels, prompts and texts of a model go through `say` to a console, and through `verbatim` into a table.
"""

import unicodedata
from collections.abc import Sequence
from typing import Any

_CONTROL = ('Cc', 'Cs')  # Unicode categories of control characters, and of surrogates
_REPLACED = '\N{REPLACEMENT CHARACTER}'


def printable(text: str, kept: str = '\n\t') -> str:
    """Return the text without control characters, except those in `kept`."""
    return ''.join(
        _REPLACED if unicodedata.category(letter) in _CONTROL and letter not in kept else letter for letter in text
    )


def in_one_line(text: str) -> str:
    """Return the text without control characters, and with spaces in place of line breaks."""
    return printable(text.replace('\n', ' '), kept='')


def verbatim(text: str, style: str = '') -> 'rich.text.Text':
    """Return the text for a table or a console of rich, without markup."""
    from rich.text import Text

    return Text(printable(text), style)


def say(console: 'rich.console.Console', text: str, style: str = '') -> None:
    """Print the text and leave line breaking to the terminal, so that it can be copied whole."""
    console.print(verbatim(text, style), soft_wrap=True)


def columns(rows: Sequence[Sequence[str]], **style: Any) -> 'rich.table.Table':
    """Return rows of text as a table, whose first row has the names of the columns.

    Args:
        style: of rich's Table; by default without lines, as reports have it.
    """
    from rich.table import Table

    names, *others = rows
    table = Table(**(style or {'box': None, 'pad_edge': False, 'padding': (0, 2, 0, 0)}))
    for name in names:
        table.add_column(verbatim(name), overflow='fold')
    for row in others:
        table.add_row(*map(verbatim, row))
    return table
