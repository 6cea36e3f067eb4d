# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Causality check by declaration: whether a later token can reach an earlier one, known before anything runs.

A mask says how far ahead its queries attend (`MaskBase.lookahead`, by its values); any other part declares with
`sees_others` that its output for a token depends on the other tokens. Cross-attention may attend to any token of the
source: a block names the fields of such parts in `of_source`.
"""

import functools
from collections.abc import Iterator
from typing import Any

from saccade.ops.mask import MaskBase
from saccade.types import Part, UserError


def require_causal(name: str, *given: Part) -> None:
    """Check that no part, nor a part within one, lets a later token reach an earlier one.

    Args:
        name: of the model that is causal.

    Raises:
        UserError: there is one; it is named.
    """
    for part in given:
        _require_causal(name, part)


@functools.lru_cache(maxsize=256)  # a model asks for each of its layers, each time that it is traced
def _require_causal(name: str, part: Part) -> None:
    for inner in _reading_others(part):
        if getattr(inner.target, 'sees_others', False):
            raise UserError(f'{name} is causal: it cannot have {inner.name}, where a token depends on later ones')
        if _makes_mask(inner.target) and getattr(inner(), 'lookahead', None) != 0:
            raise UserError(
                f'{name} is causal: under the mask {inner.name} a token attends to later ones; take ops.mask:Causal, '
                f'alone or together with it in ops.mask:all_of'
            )


def require_causal_mask(name: str, mask: MaskBase) -> None:
    """Check that no query attends to a later key.

    Args:
        name: of the part that is causal.

    Raises:
        UserError: one does, or may.
    """
    if mask.lookahead != 0:
        raise UserError(
            f'{name} is causal, and under the mask {Part(type(mask)).name} a token may attend to later ones; take '
            f'ops.mask:Causal, alone or together with it in ops.mask:all_of'
        )


def _reading_others(part: Part) -> Iterator[Part]:
    """A part and those that it was given, at any depth, less those that read another sequence or make a mask."""
    yield part
    if not _makes_mask(part.target):
        for field, value in part.arguments:
            if field not in getattr(part.target, 'of_source', ()):
                for inner in _parts(value):
                    yield from _reading_others(inner)


def _parts(value: Any) -> Iterator[Part]:
    """The part that a value is, or the parts in a list or a mapping, which `build` makes tuples of."""
    if isinstance(value, Part):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _parts(item)


def _makes_mask(target: Any) -> bool:
    """Whether it is the class of a mask, or a function that returns one."""
    made = target if isinstance(target, type) else getattr(target, '__annotations__', {}).get('return')
    return isinstance(made, type) and (issubclass(made, MaskBase) or hasattr(made, 'live'))
