# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Interventions: activations of a model, by name, set to a value, to their mean, or moved by a direction.

    edits_of(inside.places, {'layers.3.mixer.heads.2': 0.0})                       ablate a head
    edits_of(inside.places, {'layers.*.mixer.heads.2': Change('mean')})            mean over the batch
    edits_of(inside.places, {'layers.3.residual_after': Change(direction, add=True, tokens=[4])})
    edits_of(inside.places, {'layers.3.residual_after': cache['layers.3.residual_after']})    from another run

The edits of a tap are arrays over all layers of its group with a mask, which a stack scans over with the parameters: a
program compiled for one layer, head and token runs all of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import PyTree

from saccade.inside.activations import HEADS, Place, resolve
from saccade.taps import Edit
from saccade.types import ArrayLike, UserError

_TOKENS = ('T', 'S')


@dataclass(frozen=True, eq=False)
class Change:
    """Change of an activation.

    Attributes:
        value: number or array that takes its place, or 'mean', its own mean over the batch, without padding where the
            module that has it knows padding: in blocks, their heads and feed-forward layers.
        add: add the value instead.
        tokens: indices of the tokens whose activation changes; None for all.
    """

    value: float | ArrayLike | str
    add: bool = False
    tokens: Sequence[int] | None = None


def edits_of(places: Mapping[str, Place], changes: Mapping[str, Any]) -> PyTree:
    """Return the edits, for `Inside.run`, that make these changes: by name, a `Change` or its value.

    Raises:
        UserError: a name is unknown, its activation cannot be changed, or a value does not fit its shape.
    """
    wanted: dict[tuple[str, ...], list[tuple[str, int | None, Change]]] = {}
    for name, value in changes.items():
        change = value if isinstance(value, Change) else Change(value)
        for full, head in resolve(name, places):
            place = places[full]
            if not place.editable:
                raise UserError(f'{full} cannot be changed: {place.note or "it is only shown"}')
            wanted.setdefault((*place.path, place.collection), []).append((full, head, change))
    edits: dict[str, Any] = {}
    for path, of_tap in wanted.items():
        node = edits
        for step in path[:-1]:
            node = node.setdefault(step, {})
        node[path[-1]] = _edit(places, of_tap)
    return edits


def _edit(places: Mapping[str, Place], changes: Sequence[tuple[str, int | None, Change]]) -> Edit:
    """Return one edit for all changes of a tap; its arrays are as small as the changes allow."""
    first = places[changes[0][0]]
    heads, tokens = first.axis(HEADS), first.axis(_TOKENS)
    split = {heads} if any(head is not None for _, head, _ in changes) else set()
    split |= {tokens} if any(change.tokens is not None for *_, change in changes) else set()
    lead = () if first.stacked is None else (first.stacked,)
    small = (*lead, *(size if axis in split else 1 for axis, size in enumerate(first.shape)))
    arrays = any(np.ndim(change.value) for *_, change in changes if not isinstance(change.value, str))
    where, keep, mean = np.zeros(small, bool), np.zeros(small, np.float32), np.zeros(small, np.float32)
    add = np.zeros((*lead, *first.shape) if arrays else small, np.float32)
    for full, head, change in changes:
        place = places[full]
        at = [slice(None)] * len(place.shape)
        if change.tokens is not None:
            if tokens is None:
                raise UserError(f'{full} has no axis of tokens')
            at[tokens] = list(change.tokens)
        if head is not None:
            at[heads] = slice(head, head + 1)
        value = _fitting(full, place, change, at, head, heads) if np.ndim(change.value) else _number(change.value)
        values = True, float(change.add), float(isinstance(change.value, str)), value
        for array, its in zip((where, keep, mean, add), values, strict=True):
            # The layer first: indexed with a list of tokens in one step, the axes would change places.
            (array if place.index is None else array[place.index])[tuple(at)] = its
    return Edit(where, keep, mean, add, first.axes)


def _number(value: float | str) -> float:
    if isinstance(value, str) and value != 'mean':
        raise UserError(f"a change is a number, an array or 'mean', not '{value}'")
    return 0.0 if value == 'mean' else float(value)


def _fitting(
    full: str, place: Place, change: Change, at: Sequence[Any], head: int | None, heads: int | None
) -> np.ndarray:
    """Return a value in the shape of the places that it changes; a value of all tokens serves some of them."""
    value = np.asarray(change.value, np.float32)
    if value.ndim and head is not None and value.ndim == len(place.shape) - 1:
        value = np.expand_dims(value, heads)
    if value.ndim == len(place.shape):
        value = value[tuple(part if isinstance(part, list) and value.shape[axis] > 1 else slice(None)
                            for axis, part in enumerate(at))]  # fmt: skip
    shape = np.empty(place.shape, bool)[tuple(at)].shape
    try:
        return np.broadcast_to(value, shape)
    except ValueError:
        raise UserError(
            f'{full} has the shape {place.shape}; a value of shape {np.shape(change.value)} does not fit'
        ) from None
