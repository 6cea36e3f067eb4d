# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Extras of the package (PEP 508): the missing distributions of an extra, from the package's metadata."""

import re
from importlib.metadata import PackageNotFoundError, requires, version

TRAIN = 'train'  # data, training, decoding of text and reports; not needed to use parts in another model
_REQUIREMENT = re.compile(r"""([\w.-]+).*extra == ['"](\w+)['"]""")


def missing(extra: str) -> list[str]:
    """Return the distributions of an extra that are not installed; none where Saccade itself is not installed."""
    try:
        found = map(_REQUIREMENT.match, requires('saccade') or ())
    except PackageNotFoundError:
        return []
    return [match[1] for match in found if match and match[2] == extra and not _is_installed(match[1])]


def lacks(extra: str, what: str) -> str:
    """Return a message with the missing distributions of an extra and the pip command; '' where none is missing."""
    names = missing(extra)
    return f'{what} needs {", ".join(names)}: pip install "saccade[{extra}]"' if names else ''


def require(extra: str, what: str) -> None:
    """Raise an error unless an extra is installed.

    Raises:
        ImportError: a distribution of the extra is not installed.
    """
    if words := lacks(extra, what):
        raise ImportError(words)


def _is_installed(name: str) -> bool:
    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True
