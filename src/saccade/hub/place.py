# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""From a family's tensors to our tree of parameters: every tensor finds its place, and every place its tensor."""

import re
from collections.abc import Iterator, Mapping
from math import prod

import numpy as np
from einops import rearrange

from saccade.hub.family import Family, Weight
from saccade.hub.tensors import Tensors
from saccade.types import UserError

Shapes = Mapping[str, tuple[int, ...]]


def place(tensors: Tensors, family: Family, shapes: Shapes) -> dict[str, np.ndarray]:
    """Return our parameters by path, in float32.

    Args:
        shapes: those of the model's parameters, by path.

    Raises:
        UserError: a tensor is missing, left over, or of the wrong shape; or a tied copy differs.
    """
    names = _short_names(tensors, family.prefix)
    params: dict[str, np.ndarray] = {}
    for weight in family.weights:
        if shapes.keys() >= set(weight.ours):
            params.update(_take(tensors, names, weight, shapes))
    if absent := shapes.keys() - params.keys():
        raise UserError(f'no tensor of the family is placed at {_some(absent)}')
    _check_copies(tensors, names, family)
    left = [name for short, name in names.items() if not re.fullmatch(family.ignored, short)]
    if left:
        raise UserError(f'the model that config.json describes has no place for tensor {_some(left)}')
    return params


def _short_names(tensors: Tensors, prefix: str) -> dict[str, str]:
    """Name without the prefix -> name."""
    names: dict[str, str] = {}
    for name in tensors:
        if (short := name.removeprefix(prefix)) in names:
            raise UserError(f"tensors '{names[short]}' and '{name}' are for one place")
        names[short] = name
    return names


def _take(tensors: Tensors, names: dict[str, str], weight: Weight, shapes: Shapes) -> Iterator[tuple[str, np.ndarray]]:
    """Read the tensors of one weight, remove their names, and pair our paths with their arrays."""
    shape = shapes[weight.ours[0]]
    if '*' in weight.theirs:
        wanted = [weight.theirs.replace('*', str(layer)) for layer in range(shape[0])]
        layers = [_read(tensors, names, name, weight, shape[1:]) for name in wanted]
        return zip(weight.ours, np.stack(layers, axis=1), strict=True)
    return zip(weight.ours, _read(tensors, names, weight.theirs, weight, shape), strict=True)


def _read(tensors: Tensors, names: dict[str, str], wanted: str, weight: Weight, shape: tuple[int, ...]) -> np.ndarray:
    """One tensor in our layout, [part, ...]."""
    if wanted not in names:
        raise UserError(f"there is no tensor '{wanted}'")
    name = names.pop(wanted)
    fused = len(weight.ours) > 1
    theirs, _, ours = weight.layout.partition('->')
    sizes = dict(zip(ours.split(), (len(weight.ours),) * fused + shape, strict=True))
    expected = tuple(
        prod(sizes[axis] for axis in group.strip('()').split()) for group in re.findall(r'\([^)]*\)|\S+', theirs)
    )
    if tensors.shape(name) != expected:
        raise UserError(f"tensor '{name}' has shape {tensors.shape(name)}, but by config.json it should be {expected}")
    array = rearrange(tensors.read(name), weight.layout, **sizes)
    return array if fused else array[None]


def _check_copies(tensors: Tensors, names: dict[str, str], family: Family) -> None:
    """Drop what repeats a tensor that it is tied to."""
    originals = {name.removeprefix(family.prefix): name for name in tensors}
    for copy, original in family.copies.items():
        if copy in names and original not in names:
            name = names.pop(copy)
            if not np.array_equal(tensors.read(name), tensors.read(originals[original])):
                raise UserError(f"tensor '{name}' differs from '{originals[original]}', to which config.json ties it")


def _some(names: set[str] | list[str]) -> str:
    """Name the first, and count the others."""
    first, *others = sorted(names)
    return f"'{first}'" + (f' and {len(others)} more' if others else '')
