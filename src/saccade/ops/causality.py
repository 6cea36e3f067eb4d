# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Static causality check: no part may let a later token affect an earlier one.

A mask declares the reach of its queries (`MaskBase.lookahead`); any other part declares with
`sees_others` that its output for a token depends on the other tokens. Cross-attention may attend to any token of the
source: a block names the fields of such parts in `of_source`.
"""

import functools
from collections.abc import Iterator
from typing import Any

from saccade.ops.mask import MaskBase
from saccade.types import Part, UserError


def require_causal(name: str, *given: Part) -> None:
    """Check that no part, at any depth, lets a later token affect an earlier one.

    Args:
        name: name of the causal model.

    Raises:
        UserError: a part is not causal; the message names it.
    """
    for part in given:
        _require_causal(name, part)


@functools.lru_cache(maxsize=256)  # called for each layer at each trace
def _require_causal(name: str, part: Part) -> None:
    for inner in _reading_others(part):
        if getattr(inner.target, 'sees_others', False):
            raise UserError(f'{name} is causal: it does not support {inner.name}, where a token depends on later ones')
        if _makes_mask(inner.target) and getattr(inner(), 'lookahead', None) != 0:
            raise UserError(
                f'{name} is causal: under the mask {inner.name} a token attends to later ones; take ops.mask:Causal, '
                f'alone or together with it in ops.mask:all_of'
            )


def require_causal_mask(name: str, mask: MaskBase) -> None:
    """Check that no query attends to a later key.

    Args:
        name: name of the causal part.

    Raises:
        UserError: a query may attend to a later key.
    """
    if mask.lookahead != 0:
        raise UserError(
            f'{name} is causal, and under the mask {Part(type(mask)).name} a token may attend to later ones; take '
            f'ops.mask:Causal, alone or together with it in ops.mask:all_of'
        )


def _reading_others(part: Part) -> Iterator[Part]:
    """Yield a part and the parts of its fields at any depth, without fields of another sequence or of a mask."""
    yield part
    if not _makes_mask(part.target):
        for field, value in part.values.items():  # a mask that is left out attends to all
            if field not in getattr(part.target, 'of_source', ()):
                for inner in _parts(value):
                    yield from _reading_others(inner)


def _parts(value: Any) -> Iterator[Part]:
    """Yield the part of a value, or the parts of a list or a mapping, which `build` converts to tuples."""
    if isinstance(value, Part):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _parts(item)


def _makes_mask(target: Any) -> bool:
    """Return True for the class of a mask, or a function that returns one."""
    made = target if isinstance(target, type) else getattr(target, '__annotations__', {}).get('return')
    return isinstance(made, type) and (issubclass(made, MaskBase) or hasattr(made, 'live'))
