# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Format number of the files of a run, in its config.json and in the seal of each checkpoint.

A change after which an older version would misread a run increases the number, and comes with a reader of the older
format. Files without a number are of the development before 0.1.0, and are read as the first format.
"""

from collections.abc import Mapping
from typing import Any

from saccade.types import UserError

FORMAT = 1
KEY = 'format'


def numbered(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a file with the number of the current format."""
    return {KEY: FORMAT, **content}


def without_number(content: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the content of a file without its format number.

    Args:
        where: the file, for messages.

    Raises:
        UserError: the number is not one that this version can read.
    """
    number = content.get(KEY, FORMAT)
    if type(number) is not int or number < 1:
        raise UserError(f'{where}: {KEY} must be a whole number from 1 to {FORMAT}, not {number!r}')
    if number > FORMAT:
        raise UserError(
            f'{where}: written by a newer version of Saccade: it has format {number}, and this version reads up to '
            f'{FORMAT}; update Saccade'
        )
    return {name: value for name, value in content.items() if name != KEY}
