# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Code that a part reaches, read from the sources: everything that it names, calls or inherits within the package."""

import ast
import functools
from collections.abc import Iterator
from dataclasses import dataclass, field

from saccade.parts import sources

# Built-in functions and modules that open files, write, execute or import.
BUILT_IN = frozenset(['__import__', 'breakpoint', 'compile', 'eval', 'exec', 'input', 'open'])
MODULES = frozenset(
    [
        'builtins',
        'code',
        'ctypes',
        'fileinput',
        'ftplib',
        'glob',
        'http',
        'importlib',
        'io',
        'marshal',
        'mmap',
        'multiprocessing',
        'os',
        'pickle',
        'pkgutil',
        'pty',
        'requests',
        'runpy',
        'shelve',
        'shutil',
        'signal',
        'smtplib',
        'socket',
        'sqlite3',
        'subprocess',
        'sys',
        'tarfile',
        'tempfile',
        'threading',
        'urllib',
        'wandb',
        'webbrowser',
        'zipfile',
    ]
)
# Methods of paths and arrays, and functions of NumPy and JAX, that do so.
METHODS = frozenset(
    [
        'chmod',
        'from_file',
        'from_pretrained',
        'hardlink_to',
        'mkdir',
        'open',
        'read_bytes',
        'read_text',
        'rename',
        'rmdir',
        'rmtree',
        'symlink_to',
        'tofile',
        'touch',
        'unlink',
        'write_bytes',
        'write_text',
    ]
)
ARRAYS = ('numpy', 'jax')
OF_ARRAYS = frozenset(
    [
        'callback',
        'DataSource',
        'fromfile',
        'genfromtxt',
        'io_callback',
        'load',
        'loadtxt',
        'memmap',
        'open_memmap',
        'pure_callback',
        'save',
        'savetxt',
        'savez',
        'savez_compressed',
    ]
)


@dataclass(frozen=True)
class Module:
    """File of the package. Attributes: its definitions, and what each name of an import is: a module, or one's name."""

    defined: dict[str, list[ast.AST]] = field(default_factory=dict)
    imported: dict[str, tuple[str, str]] = field(default_factory=dict)


@functools.cache
def module(name: str) -> Module | None:
    text = sources().get(name)
    return None if text is None else read(text)


def read(text: str) -> Module:
    found, tree = Module(), ast.parse(text)
    for node in tree.body:
        for bound in _bound(node):
            found.defined.setdefault(bound, []).append(node)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                first = each.name.partition('.')[0]
                found.imported[each.asname or first] = (each.name if each.asname else first, '')
        elif isinstance(node, ast.ImportFrom):
            found.imported.update({each.asname or each.name: (node.module, each.name) for each in node.names})
    return found


def _bound(node: ast.AST) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return []
    return [each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)]


def uses(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the names and attributes that run, without annotations."""
    for name, value in ast.iter_fields(node):
        if name in ('annotation', 'returns'):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.Name | ast.Attribute | ast.Import | ast.ImportFrom):
                yield child
            if isinstance(child, ast.AST):
                yield from uses(child)


def dangers(nodes: list[ast.AST], held: Module) -> set[str]:
    """What some definitions do themselves that a config must not be able to ask for."""
    found = set()
    for node in (use for each in nodes for use in uses(each)):
        first = node
        while isinstance(first, ast.Attribute):
            first = first.value
        name = first.id if isinstance(first, ast.Name) else ''
        origin = held.imported.get(name, ('', ''))[0].partition('.')[0]
        if isinstance(node, ast.Name):
            found |= {origin} & MODULES
            found |= {name} & BUILT_IN if not {name} & {*held.defined, *held.imported} else set()
            found |= {held.imported[name][1]} & OF_ARRAYS if origin in ARRAYS else set()
        elif isinstance(node, ast.Attribute):
            found |= {node.attr} & (METHODS | OF_ARRAYS if origin in ARRAYS else METHODS)
    return found


def reached(module_name: str, name: str) -> list[tuple[str, str]]:
    """Definitions that one reaches within the package, itself among them, each as a module and a name."""
    found, left = {}, [(module_name, name)]
    while left:
        place = left.pop()
        held = module(place[0])
        if place in found or held is None:
            continue
        if place[1] not in held.defined:
            if place[1] in held.imported:  # handed on
                left.append(held.imported[place[1]])
            continue
        found[place] = None
        for node in (use for each in held.defined[place[1]] for use in uses(each)):
            left += _followed(node, held, place[0])
    return list(found)


def _followed(node: ast.AST, held: Module, here: str) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Name):
        if node.id in held.defined:
            yield here, node.id
        elif node.id in held.imported and held.imported[node.id][0].startswith('saccade'):
            yield held.imported[node.id]
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in held.imported:
        whole, part = held.imported[node.value.id]
        yield (f'{whole}.{part}' if part else whole), node.attr
