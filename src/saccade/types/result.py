# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Check of the results of methods that a variant overrides."""

from typing import Any

import jax

from saccade.types.errors import UserError
from saccade.types.part import Part

_LONGEST = 200  # characters of a result in a message


def require_result(part: object, method: str, found: Any, expected: Any) -> None:
    """Check the structure of a method's result, and the shapes of its arrays.

    Args:
        part: object that has the method.
        expected: a pytree like the result, of arrays or of `jax.ShapeDtypeStruct`; `...` for an array of any shape.

    Raises:
        UserError: the result differs; the message contains the class, the method and the expected shapes.
    """
    alike = jax.tree.structure(expected) == jax.tree.structure(found)
    pairs = zip(*map(jax.tree.leaves, (expected, found)), strict=alike)
    if not alike or not all(one is ... or one.shape == getattr(other, 'shape', None) for one, other in pairs):
        raise UserError(f'{Part(type(part)).name}.{method} must return {_words(expected)}, not {_words(found)}')


def _words(tree: Any) -> str:
    """Return a description of a pytree with the shapes of its arrays, such as (array [2, 9, 16], None)."""
    text = repr(jax.tree.map(_Leaf, tree))
    return text if len(text) <= _LONGEST else f'{text[:_LONGEST]}...'


class _Leaf:
    """Leaf of a pytree in a message."""

    def __init__(self, leaf: Any) -> None:
        self.leaf = leaf

    def __repr__(self) -> str:
        if self.leaf is ...:
            return 'array'
        return f'array {list(self.leaf.shape)}' if hasattr(self.leaf, 'shape') else repr(self.leaf)
