# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Oracles: tests that compare parts with code by others, as the marker of each test declares.

    @pytest.mark.oracle_of('attention.latent:Latent', by='transformers, DeepSeek-V3')

Tests are read and not run, so the list needs no other library.
"""

import ast
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

_MARKER = 'oracle_of'


class Oracle(NamedTuple):
    """A comparison with code by others. Attributes: by, who wrote that code; file of the test, from the root."""

    by: str
    file: str


def declared_oracles(root: Path) -> Mapping[str, Sequence[Oracle]]:
    """Return the oracles of each part by its config name.

    Args:
        root: of the repository, with `tests/`.
    """
    found: dict[str, list[Oracle]] = {}
    for file in sorted((root / 'tests').rglob('test_*.py')):
        text = file.read_text(encoding='utf-8')
        for node in ast.walk(ast.parse(text)) if f'mark.{_MARKER}(' in text else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == _MARKER:
                (by,) = (ast.literal_eval(keyword.value) for keyword in node.keywords)
                oracle = Oracle(by, file.relative_to(root).as_posix())
                for name in map(ast.literal_eval, node.args):
                    found.setdefault(name, []).append(oracle)
    return found
