# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Extras of the package: which of their distributions are missing, as its metadata lists them."""

import re
from importlib.metadata import PackageNotFoundError, requires, version

TRAIN = 'train'  # data, training, decoding of text and reports; parts in other people's models need none of it
_REQUIREMENT = re.compile(r"""([\w.-]+).*extra == ['"](\w+)['"]""")


def missing(extra: str) -> list[str]:
    """Return the distributions of an extra that are not installed; none where Saccade is not installed itself."""
    try:
        found = map(_REQUIREMENT.match, requires('saccade') or ())
    except PackageNotFoundError:
        return []
    return [match[1] for match in found if match and match[2] == extra and not _is_installed(match[1])]


def lacks(extra: str, what: str) -> str:
    """Say that something needs an extra which is not installed, and how to install it; nothing where it is."""
    names = missing(extra)
    return f'{what} needs {", ".join(names)}: pip install "saccade[{extra}]"' if names else ''


def require(extra: str, what: str) -> None:
    """Refuse to go on without an extra.

    Raises:
        ImportError: it is not installed.
    """
    if words := lacks(extra, what):
        raise ImportError(words)


def _is_installed(name: str) -> bool:
    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True
