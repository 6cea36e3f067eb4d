# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters of ours as the tensors of a family, in safetensors files: the inverse of `hub.place`."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
from einops import rearrange
from safetensors.numpy import save_file

from saccade.hub.describe import Description
from saccade.hub.family import Weight
from saccade.hub.place import Shapes, pieces_of, weights_of
from saccade.hub.tensors import INDEX, SINGLE

# Zeros in their place give the same outputs as a model without.
_ABSENT = re.compile(r'(.*/)?(\w+_)?bias|types')


def tensors_of(params: Mapping[str, Any], description: Description) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the tensors of a model by their full names, one at a time.

    Biases and types of tokens that the model lacks are zeros.

    Args:
        params: our parameters by path.
    """
    shapes = description.shapes
    lacking = {path: shape for path, shape in shapes.items() if path not in params and _ABSENT.fullmatch(path)}
    for weight in weights_of(description.family, description.heads, shapes):
        own = [params[path] if path in params else np.zeros(lacking[path], np.float32) for path in weight.ours]
        for name, index in () if weight.read_only else weight.tensors(own[0].shape):
            yield _name(name, description), _tensor(weight, [each[index] for each in own], shapes)


def write_tensors(folder: Path, tensors: Iterator[tuple[str, np.ndarray]], dtype: str, shard: int) -> int:
    """Write tensors to model.safetensors, or to several files with an index.

    Args:
        dtype: name of the type that they are written in, as 'float32'.
        shard: bytes of a file at most; a larger tensor has a file of its own.

    Returns:
        Bytes of all tensors.
    """
    files: list[list[str]] = []
    batch: dict[str, np.ndarray] = {}
    total, held = 0, 0

    def flush() -> None:
        files.append([*batch])
        save_file(batch, folder / _shard(len(files)), metadata={'format': 'pt'})
        batch.clear()

    for name, array in tensors:
        array = np.array(array, jnp.dtype(dtype), order='C')
        if batch and held + array.nbytes > shard:
            flush()
            held = 0
        batch[name] = array
        total, held = total + array.nbytes, held + array.nbytes
    flush()
    if len(files) == 1:
        (folder / _shard(1)).rename(folder / SINGLE)
        return total
    names = {number: f'model-{number:05d}-of-{len(files):05d}.safetensors' for number in range(1, len(files) + 1)}
    for number, name in names.items():
        (folder / _shard(number)).rename(folder / name)
    where = {tensor: names[number] for number, tensors in enumerate(files, 1) for tensor in tensors}
    index = {'metadata': {'total_size': total}, 'weight_map': where}
    (folder / INDEX).write_text(json.dumps(index, indent=2) + '\n')
    return total


def _shard(number: int) -> str:
    return f'shard-{number}.safetensors'


def _name(short: str, description: Description) -> str:
    """Return the full name of a tensor: with the prefix, unless the model is the base, or it is a head's."""
    family = description.family
    (architecture,) = description.config['architectures']
    is_base = architecture in family.heads and architecture.endswith('Model')
    return short if is_base or re.fullmatch(family.outside, short) else f'{family.prefix}{short}'


def _tensor(weight: Weight, own: list[Any], shapes: Shapes) -> np.ndarray:
    """Return one tensor in the layout of the family, from the parameters that it holds."""
    arrays = [np.asarray(each) for each in own]
    pieces = pieces_of(weight, [each.shape for each in arrays])
    if len(pieces) < len(arrays):
        arrays = [np.stack(arrays)]
    made = [_turned(layout, array) for (layout, _), array in zip(pieces, arrays, strict=True)]
    if weight.skipped:
        made.insert(0, np.zeros((weight.skipped, *made[0].shape[1:]), made[0].dtype))
    whole = np.concatenate(made) if len(made) > 1 else made[0]
    return whole if weight.order is None else whole[np.argsort(weight.order(shapes, weight.ours[0]))]


def _turned(layout: str, array: np.ndarray) -> np.ndarray:
    theirs, _, ours = layout.partition('->')
    return rearrange(array, f'{ours} -> {theirs}', **dict(zip(ours.split(), array.shape, strict=True)))
