# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Class names of the training split, and their indices."""

import json
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from saccade.types import UserError

_SHOWN = 20  # names in a message; a wrong column may have as many values as there are records


@dataclass(frozen=True)
class Names:
    """Class names. Attributes: known, the names; a class is numbered by its index among them."""

    known: tuple[str, ...]

    @classmethod
    def of(
        cls,
        labels: Iterable[str],
        classes: int,
        given: tuple[str, ...] | None = None,
        elsewhere: Mapping[str, Collection[str]] = MappingProxyType({}),
    ) -> 'Names':
        """Return the given names, or the sorted distinct names of labels.

        Args:
            elsewhere: labels of the other splits, for messages.

        Raises:
            UserError: their number differs from `classes`, or two are equal.
        """
        if given is not None:
            if len({*given}) != classes:
                raise UserError(f'data.names: {_listed(given)}: must be {classes} different names, as data.classes')
            return cls(given)
        known = tuple(sorted(set(labels)))
        rare = [(label, split) for split, there in elsewhere.items() for label in sorted({*there} - {*known})]
        if len(known) < classes and rare:
            raise UserError(
                f'data.classes: {classes}, but the training split has {len(known)}: {_listed(known)}; '
                f"'{rare[0][0]}' is only in {rare[0][1]}: give files for both splits, each with examples of every class"
            )
        if len(known) != classes:
            raise UserError(
                f'data.classes: {classes}, but the training split has {len(known)}: {_listed(known)}; '
                f'set --config.data.classes={len(known)}'
            )
        return cls(known)

    def numbers(self, labels: Sequence[str], place: Callable[[int], str]) -> np.ndarray:
        """Return the class indices of labels.

        Args:
            place: returns the place of a label by its index, for messages.

        Raises:
            UserError: a label is unknown; the message has its place.
        """
        numbers = {name: number for number, name in enumerate(self.known)}
        for index, label in enumerate(labels):
            if label not in numbers:
                raise UserError(
                    f"{place(index)}: '{label}' is not a class of the training split, which has {_listed(self.known)}"
                )
        return np.array([numbers[label] for label in labels], np.int32)


def class_of(value: Any, column: str, place: str) -> str:
    """Return the class name in a field of a record: text, or a number or boolean in JSON's spelling.

    Raises:
        UserError: the value is something else, blank, or not finite.
    """
    if isinstance(value, str) and value.strip():
        return value.strip()
    if isinstance(value, int | float) and math.isfinite(value):
        return json.dumps(value)
    raise UserError(f"{place}: '{column}' is not a class, but {value!r}")


def _listed(names: Sequence[str]) -> str:
    return ', '.join(names[:_SHOWN]) + (', ...' if len(names) > _SHOWN else '')
