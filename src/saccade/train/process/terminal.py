# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Terminal output of untrusted text: rich's markup and control characters in it have no effect.

Paths, labels, prompts and what a model writes go through `say` to a console, and through `verbatim` into a table.
"""

import unicodedata

_CONTROL = ('Cc', 'Cs')  # what Unicode calls control characters, and halves of a pair
_REPLACED = '\N{REPLACEMENT CHARACTER}'


def printable(text: str, kept: str = '\n\t') -> str:
    """Return the text without control characters, but for those that are kept."""
    return ''.join(
        _REPLACED if unicodedata.category(letter) in _CONTROL and letter not in kept else letter for letter in text
    )


def in_one_line(text: str) -> str:
    """Return the text without control characters, and with spaces for the breaks of its lines."""
    return printable(text.replace('\n', ' '), kept='')


def verbatim(text: str, style: str = '') -> 'rich.text.Text':
    """Return the text for a table or a console of rich."""
    from rich.text import Text

    return Text(printable(text), style)


def say(console: 'rich.console.Console', text: str, style: str = '') -> None:
    """Print the text, and leave the breaking of lines to the terminal, so that it can be copied whole."""
    console.print(verbatim(text, style), soft_wrap=True)
