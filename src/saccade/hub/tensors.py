# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Tensors of a folder by name, read lazily from one safetensors file, or from shards with an index."""

import json
import math
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open

from saccade.hub.setting import shortened
from saccade.paths import read_text
from saccade.types import UserError

ADAPTER = 'adapter_config.json'  # of PEFT
SINGLE = 'model.safetensors'
INDEX = 'model.safetensors.index.json'
# Quantised weights have integer types, and are meaningless without their scales.
_FLOATING = ('F64', 'F32', 'F16', 'BF16')
_BLOCK = 1 << 20  # elements of two tensors that are compared at a time


class Held:
    """Counter of host memory. Attributes: bytes of the counted arrays that are alive, and the most at any time."""

    def __init__(self) -> None:
        self.alive = self.most = 0
        self._known: set[int] = set()

    def count(self, array: np.ndarray) -> np.ndarray:
        """Count the memory of an array, or of the array that it is a view of, until it is freed."""
        owner = array
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        if id(owner) not in self._known:
            self._known.add(id(owner))
            self.alive += owner.nbytes
            self.most = max(self.most, self.alive)
            weakref.finalize(owner, self._freed, id(owner), owner.nbytes).atexit = False
        return array

    def _freed(self, number: int, size: int) -> None:
        self._known.remove(number)
        self.alive -= size


@dataclass(frozen=True)
class Tensors:
    """Tensors of safetensors files, read lazily.

    Attributes:
        files: the open file of each tensor, by tensor name.
        held: bytes that were read and are not freed.
    """

    files: Mapping[str, Any]
    held: Held = field(default_factory=Held)

    def __iter__(self) -> Iterator[str]:
        return iter(self.files)

    def __contains__(self, name: str) -> bool:
        return name in self.files

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a tensor, without reading its values."""
        return tuple(self.files[name].get_slice(name).get_shape())

    def read(self, name: str) -> np.ndarray:
        """Return the tensor in the type of the file, or in float32 for a float64.

        Raises:
            UserError: its type is not floating-point, a value is not finite, or NumPy does not support its shape.
        """
        return self._read(name, lambda file: file.get_tensor(name))

    def equal(self, name: str, other: str) -> bool:
        """Return True if two tensors have the same shape and values; they are read some rows at a time.

        Raises:
            UserError: as for `read`.
        """
        shape = self.shape(name)
        if shape != self.shape(other):
            return False
        count = max(1, _BLOCK // max(1, math.prod(shape[1:])))

        def rows(each: str, first: int) -> np.ndarray:
            return self._read(each, lambda file: file.get_slice(each)[first : min(first + count, shape[0])])

        return all(np.array_equal(rows(name, first), rows(other, first)) for first in range(0, shape[0], count))

    def _read(self, name: str, read: Callable[[Any], np.ndarray]) -> np.ndarray:
        dtype = self.files[name].get_slice(name).get_dtype()
        if dtype not in _FLOATING:
            raise UserError(f"tensor '{name}' is of type {dtype}; only {', '.join(_FLOATING)} can be loaded")
        try:
            array = self.held.count(read(self.files[name]))
        except (ValueError, SafetensorError) as error:
            raise UserError(f"tensor '{name}' cannot be read: {error}") from None
        if array.dtype == np.float64:
            with np.errstate(over='ignore'):  # a large number becomes infinite, and is reported below
                array = self.held.count(array.astype(np.float32))
        # The least and the greatest number are NaN if any is; this needs no memory.
        with np.errstate(invalid='ignore'):
            finite = not array.size or (np.isfinite(array.min()) and np.isfinite(array.max()))
        if not finite:
            raise UserError(f"tensor '{name}' holds a number that is NaN, or infinite in float32; the file is damaged")
        return array


@contextmanager
def open_tensors(folder: Path) -> Iterator[Tensors]:
    """Open the folder's tensors within a context.

    Raises:
        UserError: a file is missing, cut short or not safetensors, or two files have a tensor of the same name.
    """
    with ExitStack() as stack:
        files: dict[str, Any] = {}
        for path in _paths(folder):
            file = stack.enter_context(_open(path))
            for name in file.keys():  # noqa: SIM118, the file is not iterable
                if name in files:
                    raise UserError(f"{path.name}: tensor '{name}' is in another file of the folder too")
                files[name] = file
        yield Tensors(files)


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file.

    Raises:
        UserError: the file cannot be read, or does not hold a JSON object.
    """
    try:
        value = json.loads(read_text(path), object_hook=_finite_or_not)
    except OSError as error:
        raise UserError(f'{path.name}: cannot be read: {error.strerror}') from None
    except (ValueError, RecursionError) as error:
        raise UserError(f'{path.name}: is not JSON: {error}') from None
    if not isinstance(value, dict):
        raise UserError(f'{path.name}: must hold a JSON object')
    return value


def _finite_or_not(found: dict[str, Any]) -> Any:
    """Return an object of a JSON file. Version 5 of transformers writes an infinite number as an object."""
    return float(str(found['__float__'])) if found.keys() == {'__float__'} else found


def _paths(folder: Path) -> list[Path]:
    if (folder / SINGLE).exists():
        return [folder / SINGLE]
    if not (folder / INDEX).exists():
        others = sorted(path.name for path in folder.glob('*.bin'))
        hint = f'; {", ".join(others)} must be converted to safetensors first' if others else ''
        raise UserError(f'has neither {SINGLE} nor {INDEX}{hint}')
    shards = read_json(folder / INDEX).get('weight_map')
    if not isinstance(shards, dict) or not all(isinstance(name, str) for name in shards.values()):
        raise UserError(f"{INDEX}: has no 'weight_map' from tensors to files")
    for name in set(shards.values()):
        if name in ('', '..') or PurePath(name).name != name or '\0' in name:
            raise UserError(f'{INDEX}: {shortened(name)} is not the name of a file in the folder')
    return [folder / name for name in sorted(set(shards.values()))]


def _open(path: Path) -> Any:
    if path.exists() and not path.is_file():
        raise UserError(f'{path.name}: cannot be read: it is not a regular file')
    try:
        # ml_dtypes, a dependency of JAX, adds bfloat16 to NumPy.
        return safe_open(path, framework='numpy')
    except OSError as error:
        raise UserError(f'{path.name}: cannot be read: {error.strerror or error}') from None
    except SafetensorError as error:
        raise UserError(f'{path.name}: is damaged or cut short: {error}') from None
