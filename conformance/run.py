# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Contracts on the layers of one library; results as plain values."""

import datetime
import importlib
import importlib.util
import json
import platform
import re
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType
from typing import Any

from conformance.contracts import CONTRACTS, Contract, Fault, normal
from conformance.layer import Layer, NotOffered

HERE = Path(__file__).parent
PASS, FAIL, NOT_OFFERED = 'pass', 'fail', 'not offered'
SHAPE = (2, 12)  # rows, tokens


def libraries() -> list[str]:
    """Names of the libraries that have an adapter here."""
    return sorted(file.stem for file in (HERE / 'libraries').glob('[a-z]*.py'))


class AdapterError(Exception):
    """An adapter cannot be used; the message is one line: which adapter, and what is wrong."""


def adapter_of(library: str) -> ModuleType:
    """Import an adapter by its library's name, or its file.

    Raises:
        AdapterError: the adapter cannot be imported.
    """
    try:
        if library in libraries():
            return importlib.import_module(f'conformance.libraries.{library}')
        spec = importlib.util.spec_from_file_location(Path(library).stem, library)
        if spec is None:
            raise AdapterError(f'{library} is no Python file: an adapter is a file that ends in .py')
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    except Exception as error:
        raise error if isinstance(error, AdapterError) else AdapterError(f'{library}: {_one_line(error)}') from error


def layers_of(adapter: ModuleType) -> dict[str, Callable[[], Layer]]:
    """Return the functions that make an adapter's layers, by name.

    Raises:
        AdapterError: the adapter has no function `layers`, or that returns something else.
    """
    name = adapter.__name__
    if not callable(getattr(adapter, 'layers', None)):
        raise AdapterError(f'{name} has no function layers(), which returns the layers by name')
    try:
        layers = adapter.layers()
    except Exception as error:
        raise AdapterError(f'{name}: layers() raises {_one_line(error)}') from error
    if not isinstance(layers, dict) or not layers or not all(map(callable, layers.values())):
        raise AdapterError(f'{name}: layers() must return a dict from names to functions that make a Layer')
    return layers


def _one_line(error: Exception) -> str:
    """Type, message and place of an error of any library."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    said = (str(error).strip().splitlines() or [''])[0]
    return f'{type(error).__name__}: {said[:200]} ({Path(frame.filename).name}:{frame.lineno})'


def verdict(contract: Contract, layer: Layer) -> dict[str, Any]:
    """Return the verdict of a contract on a layer: pass, fail with the difference, or not offered with the reason."""
    try:
        difference = contract.measure(layer, normal((*SHAPE, layer.width)))
    except NotOffered as reason:
        return {'verdict': NOT_OFFERED, 'note': str(reason)}
    except Fault as reason:
        return {'verdict': FAIL, 'note': str(reason)}
    except Exception as error:  # of any library
        return {'verdict': FAIL, 'note': _one_line(error)}
    passed = difference <= contract.tolerance
    return {'verdict': PASS if passed else FAIL, 'difference': float(f'{difference:.2g}')}


def run(
    layers: dict[str, Callable[[], Layer]], contracts: Iterable[Contract] = tuple(CONTRACTS.values())
) -> Iterator[tuple[str, dict[str, Any], float]]:
    """Yield each layer's name, verdicts by contract, and seconds.

    Raises:
        AdapterError: a layer cannot be made.
    """
    for name, make in layers.items():
        start = time.perf_counter()
        try:
            layer = make()
        except Exception as error:
            raise AdapterError(f'{name} cannot be made: {_one_line(error)}') from error
        if not isinstance(layer, Layer):
            raise AdapterError(f'{name} is a {type(layer).__name__}, not a conformance.layer.Layer')
        verdicts = {each.name: verdict(each, layer) for each in contracts}
        yield name, verdicts, time.perf_counter() - start


def provenance(name: str, requires: Iterable[str]) -> dict[str, Any]:
    """Versions of the required packages, of Python, and the date.

    Raises:
        AdapterError: a required package is not installed.
    """
    versions = {}
    for requirement in requires:
        package = re.match(r'[\w.-]+', requirement)[0]
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            raise AdapterError(f'{name}: REQUIRES names {package}, which is not installed') from None
    return {'versions': versions, 'python': platform.python_version(), 'date': datetime.date.today().isoformat()}


def text_of(found: dict[str, Any]) -> str:
    """Return results as JSON, one line per layer."""
    head = json.dumps({name: value for name, value in found.items() if name != 'layers'})
    rows = (f'{json.dumps(layer)}: {json.dumps(verdicts)}' for layer, verdicts in found['layers'].items())
    return f'{head[:-1]},\n"layers": {{\n' + ',\n'.join(rows) + '\n}}\n'
