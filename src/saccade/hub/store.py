# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters of ours as the tensors of a family, in safetensors files: the inverse of `hub.place`."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
from einops import rearrange

from saccade.hub.describe import Description
from saccade.hub.family import Weight
from saccade.hub.place import part_shape, pieces_of, stored_shape, weights_of
from saccade.hub.tensors import INDEX, SINGLE
from saccade.types import UserError

# Zeros in their place give the same outputs as a model without.
_ABSENT = re.compile(r'(.*/)?(\w+_)?bias|types|pooled_head/hidden')
_CODES = {'float32': 'F32', 'bfloat16': 'BF16', 'float16': 'F16'}


@dataclass(frozen=True)
class Outgoing:
    """Tensor to be written. Attributes: name, shape; make, which returns its values."""

    name: str
    shape: tuple[int, ...]
    make: Callable[[], np.ndarray]

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)


def tensors_of(params: Mapping[str, Any], description: Description) -> Iterator[Outgoing]:
    """Yield the tensors of a model by their full names; the values of each are copied from the devices by `make`.

    Biases and types of tokens that the model lacks are zeros, as is a pooler that is not used.

    Args:
        params: our parameters by path.
    """
    for weight in weights_of(description.family, description.heads, description.shapes):
        if not weight.read_only:
            yield from tensors_in(weight, params, description)


def tensors_in(weight: Weight, params: Mapping[str, Any], description: Description) -> Iterator[Outgoing]:
    """Yield the tensors of one weight: one, or one per layer and expert."""
    shapes = [description.shapes[path] for path in weight.ours]
    own = [None if path not in params and _ABSENT.fullmatch(path) else params[path] for path in weight.ours]
    order = weight.order and weight.order(description.shapes, weight.ours[0])
    for short, index in weight.tensors(shapes[0]):
        within = [shape[len(index) :] for shape in shapes]
        make, shape = partial(_tensor, weight, within, own, order, index), stored_shape(weight, within)
        for number, part in enumerate(weight.parts(short)):
            yield Outgoing(
                full_name(part, description), part_shape(weight, shape), partial(_part, make, weight, number)
            )


def write_tensors(folder: Path, tensors: Iterable[Outgoing], dtype: str, shard: int) -> None:
    """Write tensors to model.safetensors, or to several files with an index; one at a time is in memory.

    Args:
        dtype: name of the type that they are written in, as 'float32'.
        shard: bytes of a file at most; a larger tensor has a file of its own.
    """
    width = jnp.dtype(dtype).itemsize
    files: list[list[Outgoing]] = [[]]
    held = 0
    for tensor in tensors:
        if files[-1] and held + tensor.size * width > shard:
            files.append([])
            held = 0
        files[-1].append(tensor)
        held += tensor.size * width
    if len(files) == 1:
        write_file(folder / SINGLE, files[0], dtype)
        return
    named = {f'model-{number:05d}-of-{len(files):05d}.safetensors': part for number, part in enumerate(files, 1)}
    for name, part in named.items():
        write_file(folder / name, part, dtype)
    where = {tensor.name: name for name, part in named.items() for tensor in part}
    total = width * sum(tensor.size for part in files for tensor in part)
    (folder / INDEX).write_text(json.dumps({'metadata': {'total_size': total}, 'weight_map': where}, indent=2) + '\n')


def write_file(path: Path, tensors: Sequence[Outgoing], dtype: str) -> None:
    """Write one safetensors file: the length of a header in JSON, the header, and the values of each tensor in turn.

    The format: https://github.com/huggingface/safetensors#format. The library writes only tensors that are all in
    memory.

    Raises:
        UserError: a value is NaN or infinite, or is beyond the range of the type.
    """
    header: dict[str, Any] = {'__metadata__': {'format': 'pt'}}
    at = 0
    for tensor in tensors:
        end = at + tensor.size * jnp.dtype(dtype).itemsize
        header[tensor.name] = {'dtype': _CODES[dtype], 'shape': [*tensor.shape], 'data_offsets': [at, end]}
        at = end
    text = json.dumps(header, separators=(',', ':')).encode()
    text += b' ' * (-len(text) % 8)  # values are aligned
    with path.open('wb') as file:
        file.write(len(text).to_bytes(8, 'little') + text)
        for tensor in tensors:
            file.write(np.ravel(_cast(tensor, dtype)).view(np.uint8))


def _cast(tensor: Outgoing, dtype: str) -> np.ndarray:
    values = tensor.make()
    with np.errstate(over='ignore'):  # a value beyond the range becomes infinite
        cast = np.asarray(values, jnp.dtype(dtype), order='C')
    if np.isfinite(cast).all():
        return cast
    if not np.isfinite(values).all():
        raise UserError(f"tensor '{tensor.name}' holds a number that is NaN or infinite; export another checkpoint")
    raise UserError(
        f"tensor '{tensor.name}' has a weight of magnitude {np.abs(values).max():.6g}; {dtype} ends at "
        f'{float(jnp.finfo(dtype).max):.6g}: export with --dtype=bfloat16 or --dtype=float32'
    )


def full_name(short: str, description: Description) -> str:
    """Return the full name of a tensor: with the prefix, unless the model is the base, or it is a head's."""
    family = description.family
    (architecture,) = description.config['architectures']
    is_base = architecture in family.heads and architecture.endswith('Model')
    outside = is_base or re.fullmatch(family.outside, short)
    return short if outside else f'{family.prefix_with(description.heads)}{short}'


def _tensor(
    weight: Weight, shapes: list[tuple[int, ...]], own: list[Any], order: np.ndarray | None, index: tuple[int, ...]
) -> np.ndarray:
    """Return one tensor in the layout of the family, from the parameters that it holds.

    Args:
        shapes: of these parameters, within a layer.
        own: the parameters; None for one that the model lacks.
        order: of the rows, in ours; None for the same.
        index: of the layer, and of the expert, in them.
    """
    arrays = [
        np.zeros(shape, np.float32) if each is None else np.asarray(each[index])
        for each, shape in zip(own, shapes, strict=True)
    ]
    pieces = pieces_of(weight, shapes)
    if len(pieces) < len(arrays):
        arrays = [np.stack(arrays)]
    made = [_turned(layout, array) for (layout, _), array in zip(pieces, arrays, strict=True)]
    if weight.skipped:
        made.insert(0, np.zeros((weight.skipped, *made[0].shape[1:]), made[0].dtype))
    whole = np.concatenate(made) if len(made) > 1 else made[0]
    return whole if order is None else whole[np.argsort(order)]


def _part(make: Callable[[], np.ndarray], weight: Weight, number: int) -> np.ndarray:
    whole = make()
    return np.split(whole, len(weight.joined))[number] if len(weight.joined) > 1 else whole


def _turned(layout: str, array: np.ndarray) -> np.ndarray:
    theirs, _, ours = layout.partition('->')
    return rearrange(array, f'{ours} -> {theirs}', **dict(zip(ours.split(), array.shape, strict=True)))
