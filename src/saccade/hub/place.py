# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Conversion of a family's tensors to our parameter tree; every tensor must be used, and every parameter set."""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from math import prod

import numpy as np
from einops import rearrange

from saccade.hub.family import ZEROS, Family, Head, Shapes, Table, Weight
from saccade.hub.leaves import Leaves
from saccade.hub.tensors import Tensors
from saccade.layer_paths import numbers
from saccade.types import UserError

_ROUNDING = 2e-3  # half a step of bfloat16 at 1, the largest value of a table


def place(tensors: Tensors, family: Family, shapes: Shapes, heads: tuple[Head, ...], leaves: Leaves) -> None:
    """Read the tensors of a model one at a time, and put each into our parameters before the next is read.

    Args:
        shapes: shapes of the model's parameters, by path.
        heads: heads of the family that the model has.
        leaves: the parameters to fill.

    Raises:
        UserError: a tensor is missing, left over, or of the wrong shape; or a tied copy or a constant table differs.
    """
    names = _short_names(tensors, family, heads)
    left = dict(names)
    for weight in weights_of(family, heads, shapes):
        first, *_ = weight.parts(next(weight.tensors(shapes[weight.ours[0]]))[0])
        absent = first not in left
        if weight.ours[0] in leaves.arrays or (absent and weight.read_only):
            continue  # another layout has it
        if absent and weight.instead == ZEROS:
            for path in weight.ours:
                leaves.put(path, shapes[path], (), np.zeros(shapes[path], np.float32))
            continue
        if absent and weight.instead in names:
            left[first] = names[weight.instead]
        _take(tensors, left, weight, shapes, leaves)
    if absent := shapes.keys() - leaves.arrays.keys():
        raise UserError(f'no tensor of the family is placed at {_some(absent)}')
    _check_copies(tensors, names, left, family.copies)
    _check_constants(tensors, left, family.constants)
    # Tensors without a parameter may be left over, and tensors of heads that an encoder does not have.
    others = () if family.architecture else family.heads.values()
    spare = {weight.theirs for each in others for weight in _weights(each)}
    over = [
        name
        for short, name in left.items()
        if family.copies.get(short, short) not in spare and not re.fullmatch(family.ignored, short)
    ]
    if over:
        raise UserError(f'the model that config.json describes has no place for tensor {_some(over)}')


def weights_of(family: Family, heads: tuple[Head, ...], shapes: Shapes) -> Iterator[Weight]:
    """Yield the tensors of a model with parameters of these shapes."""
    for weight in (*family.weights, *_weights(heads)):
        for own in _in_groups(weight, shapes):
            wanted = {*own.ours, *filter(None, [own.needs])}
            if shapes.keys() >= wanted and own.without not in shapes:
                yield own


def _in_groups(weight: Weight, shapes: Shapes) -> Iterator[Weight]:
    """Yield the weight of each group of layers."""
    stem, mark, _ = weight.ours[0].partition('*')
    if not mark:
        yield weight
        return
    repeats = {
        path.removeprefix(stem).partition('/')[0]: shape[0] for path, shape in shapes.items() if path.startswith(stem)
    }
    for group, layers in numbers(repeats).items():
        yield weight.in_group(group, layers)


def layouts_of(weight: Weight) -> tuple[str, ...]:
    """Return the layout of each parameter in a tensor that holds several, one after another."""
    layout = weight.layout
    return layout if isinstance(layout, tuple) else (layout.replace('part ', ''),) * len(weight.ours)


def _weights(heads: Iterable[Head]) -> Iterator[Weight]:
    return (weight for head in heads for weight in head.weights)


def _short_names(tensors: Tensors, family: Family, heads: tuple[Head, ...]) -> dict[str, str]:
    """Return the stored name of each tensor by its name in the family's weights: no prefix, no older part."""
    names: dict[str, str] = {}
    for name in tensors:
        short = name.removeprefix(family.prefix_with(heads))
        for old, new in family.older.items():
            short = re.sub(old, new, short)
        if short in names:
            raise UserError(f"tensors '{names[short]}' and '{name}' have the same place in the model")
        names[short] = name
    return names


def _take(tensors: Tensors, names: dict[str, str], weight: Weight, shapes: Shapes, leaves: Leaves) -> None:
    """Read the tensors of one weight, remove their names from `names`, and put them into our parameters."""
    own = [shapes[path] for path in weight.ours]
    order = weight.order and weight.order(shapes, weight.ours[0])
    for name, index in weight.tensors(own[0]):
        pieces = _read(tensors, names, name, weight, [shape[len(index) :] for shape in own], order)
        for path, shape in zip(weight.ours, own, strict=True):
            leaves.put(path, shape, index, next(pieces))
        pieces.close()  # frees the tensor before the next is read


def _read(
    tensors: Tensors,
    names: dict[str, str],
    wanted: str,
    weight: Weight,
    shapes: list[tuple[int, ...]],
    order: np.ndarray | None,
) -> Iterator[np.ndarray]:
    """Yield the parameters that one tensor holds, in our layout. Args: shapes, of these parameters; order of rows."""
    pieces, whole = pieces_of(weight, shapes), stored_shape(weight, shapes)
    rows = [shape[0] if shape else 1 for shape in itertools.starmap(_shape, pieces)]
    found = [_read_one(tensors, names, part, part_shape(weight, whole)) for part in weight.parts(wanted)]
    array = tensors.held.count(np.concatenate(found)) if len(found) > 1 else found[0]
    del found
    array = array if order is None else tensors.held.count(array[order])
    starts = np.cumsum([weight.skipped, *rows])
    for start, count, (layout, shape) in zip(starts[:-1], rows, pieces, strict=True):
        made = rearrange(array[start : start + count] if whole else array, layout, **_sizes(layout, shape))
        tensors.held.count(made)
        for part in made if len(pieces) < len(shapes) else [made]:
            yield tensors.held.count(np.asarray(part, order='C'))


def _read_one(tensors: Tensors, names: dict[str, str], wanted: str, shape: tuple[int, ...]) -> np.ndarray:
    if wanted not in names:
        raise UserError(f"there is no tensor '{wanted}'")
    name = names.pop(wanted)
    if tensors.shape(name) != shape:
        raise UserError(f"tensor '{name}' has shape {tensors.shape(name)}, but config.json implies {shape}")
    return tensors.read(name)


def part_shape(weight: Weight, whole: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shapes of the tensors that are stored as one. Args: whole, its shape."""
    return (whole[0] // len(weight.joined), *whole[1:]) if whole else ()


def pieces_of(weight: Weight, shapes: list[tuple[int, ...]]) -> list[tuple[str, tuple[int, ...]]]:
    """Return the pieces of a tensor, one after another along its first axis: layout, and shape of ours.

    Args:
        shapes: of the parameters that the tensor holds.
    """
    if isinstance(weight.layout, tuple):
        return [*zip(weight.layout, shapes, strict=True)]
    return [(weight.layout, (len(shapes), *shapes[0]) if len(shapes) > 1 else shapes[0])]


def stored_shape(weight: Weight, shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the shape of a tensor. Args: shapes, of the parameters that it holds."""
    first, *others = itertools.starmap(_shape, pieces_of(weight, shapes))
    return (weight.skipped + first[0] + sum(other[0] for other in others), *first[1:]) if first else ()


def _sizes(layout: str, shape: tuple[int, ...]) -> dict[str, int]:
    return dict(zip(layout.partition('->')[2].split(), shape, strict=True))


def _shape(layout: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of a piece as the family stores it."""
    sizes, theirs = _sizes(layout, shape), layout.partition('->')[0]
    groups = (group.strip('()').split() for group in re.findall(r'\([^)]*\)|\S+', theirs))
    return tuple(prod(sizes[axis] for axis in group if axis != '1') for group in groups)


def _check_copies(tensors: Tensors, names: dict[str, str], left: dict[str, str], copies: Mapping[str, str]) -> None:
    """Remove tied copies of tensors that were placed; raise an error if a copy differs."""
    taken = names.keys() - left.keys()
    for copy, original in copies.items():
        if copy in left and original in taken:
            name = left.pop(copy)
            if not tensors.equal(name, names[original]):
                raise UserError(f"tensor '{name}' differs from '{names[original]}', to which config.json ties it")


def _check_constants(tensors: Tensors, left: dict[str, str], constants: Mapping[str, Table]) -> None:
    """Remove constant tables; raise an error if a table differs."""
    for short in constants.keys() & left.keys():
        name = left.pop(short)
        stored = tensors.read(name).astype(np.float32)
        if stored.ndim != 2 or not np.allclose(stored, constants[short](*stored.shape), rtol=0, atol=_ROUNDING):
            raise UserError(f"tensor '{name}' differs from the constant table of the family")


def _some(names: set[str] | list[str]) -> str:
    """Return the first name in order, and the number of others."""
    first, *others = sorted(names)
    return f"'{first}'" + (f' and {len(others)} more' if others else '')
