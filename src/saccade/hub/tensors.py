# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Tensors of a folder by name, read lazily from one safetensors file, or from shards with an index."""

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open

from saccade.hub.setting import shortened
from saccade.paths import read_text
from saccade.types import UserError

SINGLE = 'model.safetensors'
INDEX = 'model.safetensors.index.json'
# Quantised weights have integer types, and are meaningless without their scales.
_FLOATING = ('F64', 'F32', 'F16', 'BF16')


@dataclass(frozen=True)
class Tensors:
    """Tensors of safetensors files, read lazily. Attributes: files, the open file of each tensor, by tensor name."""

    files: Mapping[str, Any]

    def __iter__(self) -> Iterator[str]:
        return iter(self.files)

    def __contains__(self, name: str) -> bool:
        return name in self.files

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a tensor, without reading its values."""
        return tuple(self.files[name].get_slice(name).get_shape())

    def read(self, name: str) -> np.ndarray:
        """Return the tensor in float32.

        Raises:
            UserError: its type is not floating-point, a value is not finite, or NumPy does not support its shape.
        """
        dtype = self.files[name].get_slice(name).get_dtype()
        if dtype not in _FLOATING:
            raise UserError(f"tensor '{name}' is of type {dtype}; only {', '.join(_FLOATING)} can be loaded")
        try:
            with np.errstate(over='ignore'):  # a large float64 becomes infinite, and is reported below
                array = self.files[name].get_tensor(name).astype(np.float32)
        except (ValueError, SafetensorError) as error:
            raise UserError(f"tensor '{name}' cannot be read: {error}") from None
        if not np.isfinite(array).all():
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
        value = json.loads(read_text(path))
    except OSError as error:
        raise UserError(f'{path.name}: cannot be read: {error.strerror}') from None
    except (ValueError, RecursionError) as error:
        raise UserError(f'{path.name}: is not JSON: {error}') from None
    if not isinstance(value, dict):
        raise UserError(f'{path.name}: must hold a JSON object')
    return value


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
