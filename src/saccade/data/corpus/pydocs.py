# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Real English on every machine: the Python documentation's topics, and docstrings of installed packages.

The documents are the topics of `help()`, one each, and the docstrings of each module of the standard library and of
Saccade's dependencies, in source order with their names. Sources are parsed, never imported.
"""

import ast
import contextlib
import hashlib
import importlib.metadata
import importlib.util
import json
import platform
import re
import sys
import sysconfig
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import tensorflow_datasets as tfds

from saccade.data.corpus.document import TextDocument, draw, features
from saccade.progress import counted

# In this order; a repeated docstring belongs to the first.
PACKAGES = ('numpy', 'scipy', 'jax', 'flax', 'optax', 'orbax', 'grain', 'einops', 'ml_collections', 'absl', 'rich')
VALIDATION = 0.05  # fraction of the documents
_TINY = 200  # characters; shorter documents are hardly a sentence
# Test suites are not prose, installed packages are listed in PACKAGES, and _sysconfigdata differs by machine.
_SKIPPED = re.compile(
    r'(?:.*_)?tests?(?:ing|data)?(?:_.*)?'
    r'|__pycache__|(?:site|dist)-packages|config-.*|_sysconfigdata.*|lib2to3|pydoc_data'
)
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_NESTED = ('body', 'handlers', 'orelse', 'finalbody')

Modules = Sequence[tuple[str, Path]]


class PyDocs(tfds.core.GeneratorBasedBuilder):
    """Topics and modules, in the order of `documents`."""

    VERSION = tfds.core.Version('1.0.0')
    name = 'pydocs'

    def _info(self) -> tfds.core.DatasetInfo:
        return tfds.core.DatasetInfo(builder=self, description=__doc__, features=features(), disable_shuffling=True)

    def _split_generators(self, dl_manager: Any) -> dict[str, Iterator[tuple[int, dict[str, str]]]]:
        found = [*topics(), *documents(installed_modules())]
        return {
            'train': self._generate_examples([item for item in found if draw(item.id) >= VALIDATION]),
            'validation': self._generate_examples([item for item in found if draw(item.id) < VALIDATION]),
        }

    def _generate_examples(self, found: Sequence[TextDocument]) -> Iterator[tuple[int, dict[str, str]]]:
        yield from enumerate(map(asdict, found))


def fingerprint(modules: Modules) -> str:
    """Return a digest of the sources: the Python release, the modules and their sizes."""
    sizes = [[name, path.stat().st_size] for name, path in modules]
    return hashlib.sha256(json.dumps([str(PyDocs.VERSION), sys.version_info[:], sizes]).encode()).hexdigest()


def versions() -> dict[str, str]:
    """Return the versions of Python and of those packages whose distribution has the same name."""
    found = {'Python': platform.python_version()}
    for name in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def installed_modules() -> Modules:
    """Return the modules of the standard library and of the packages, with their source files."""
    return [module for name, root in _roots() for module in modules_below(root, name)]


def modules_below(root: Path, package: str = '') -> Modules:
    """Return the modules in a folder and below, without tests, sorted by path.

    Args:
        root: folder of the package.
        package: name of the package; '' if the folder only contains packages.
    """
    files = sorted(file.relative_to(root) for file in root.rglob('*.py') if file.is_file())
    found = []
    for file in files:
        parts = file.with_suffix('').parts
        if not any(map(_SKIPPED.fullmatch, parts)):
            name = '.'.join(part for part in (package, *parts) if part and part != '__init__')
            found.append((name, root / file))
    return found


def topics() -> Iterator[TextDocument]:
    """Yield the topics of the Python documentation, if they are installed."""
    try:
        from pydoc_data.topics import topics as texts
    except ImportError:
        return
    for name, text in sorted(texts.items()):
        yield TextDocument(id=f'topics/{name}', text=text.strip() + '\n')


def documents(modules: Modules) -> Iterator[TextDocument]:
    """Yield the docstrings of each module as one document; repeated ones and tiny documents are dropped."""
    seen = set()
    for name, path in counted(modules, 'reading docstrings', len(modules), 'modules'):
        blocks = []
        for qualified_name, text in docstrings(path.read_bytes(), name):
            if text not in seen:
                seen.add(text)
                blocks.append(f'{qualified_name}\n{text}\n')
        text = '\n'.join(blocks)
        if len(text) >= _TINY:
            yield TextDocument(id=name, text=text)


def docstrings(source: bytes, module: str) -> Iterator[tuple[str, str]]:
    """Yield the qualified names and docstrings of a module in source order.

    A source that this Python cannot parse has none.
    """
    try:
        with warnings.catch_warnings():
            # Third-party sources: the user cannot fix an invalid escape sequence in them.
            warnings.simplefilter('ignore', SyntaxWarning)
            warnings.simplefilter('ignore', DeprecationWarning)
            tree = ast.parse(source)
        found = list(_walk(tree, module))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    yield from found


def _roots() -> Iterator[tuple[str, Path]]:
    yield '', Path(sysconfig.get_path('stdlib'))
    for name in PACKAGES:
        spec = importlib.util.find_spec(name)
        for folder in (spec and spec.submodule_search_locations) or ():
            yield name, Path(folder)


def _walk(node: ast.AST, name: str) -> Iterator[tuple[str, str]]:
    """Visit only statements: expressions contain no docstrings and are most of a tree."""
    text = ast.get_docstring(node) if isinstance(node, _DOCUMENTED) else None
    if text and text.strip():
        # A source may contain a lone surrogate, which UTF-8 cannot encode.
        yield name, text.strip().encode(errors='replace').decode()
    for field in _NESTED:
        for child in getattr(node, field, ()):
            yield from _walk(child, f'{name}.{child.name}' if isinstance(child, _DOCUMENTED) else name)
