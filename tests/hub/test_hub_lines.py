# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Lengths of the files of families: 80 lines, or 25 for one that renames another, without header and docstring."""

import ast
from pathlib import Path

import pytest

from saccade.hub import family as base
from saccade.hub.family import families

MOST, MOST_LIKE_ANOTHER = 80, 25
FAMILIES = {name.replace('-', '_'): bool(family.like) for name, family in families().items()}


def lines(name: str) -> int:
    """Lines of a file that are not empty, without header and docstring."""
    source = (Path(base.__file__).parent / f'{name}.py').read_text()
    return sum(map(bool, map(str.strip, source.splitlines()[ast.parse(source).body[0].end_lineno :])))


@pytest.mark.parametrize(('name', 'like'), FAMILIES.items())
def test_a_family_is_short(name, like):
    assert lines(name) <= (MOST_LIKE_ANOTHER if like else MOST)
