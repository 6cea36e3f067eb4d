# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Code that a part reaches, read from the sources: everything in the package that it names, calls or inherits."""

import ast
import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from saccade.parts import sources

# What opens, writes, executes or imports: built-in functions; modules, whatever is used of them; methods of paths and
# arrays; and functions of NumPy and JAX, which files of ours may have under the same names.
BUILT_IN = '__builtins__ __import__ breakpoint compile eval exec globals input open'
MODULES = (
    'asyncio builtins code concurrent ctypes fileinput ftplib glob http importlib io marshal mmap multiprocessing os '
    'pickle pkgutil pty requests runpy shelve shutil signal smtplib socket sqlite3 subprocess sys tarfile tempfile '
    'threading urllib wandb webbrowser zipfile'
)
METHODS = (
    'chmod from_file from_pretrained hardlink_to mkdir open read_bytes read_text rename rmdir rmtree symlink_to tofile '
    'touch unlink write_bytes write_text'
)
ARRAYS = ('numpy', 'jax')
OF_ARRAYS = (
    'DataSource callback fromfile genfromtxt io_callback load loadtxt memmap open_memmap pure_callback save savetxt '
    'savez savez_compressed'
)

Place = tuple[str, str]  # a module, and the name of a definition in it


@dataclass(frozen=True)
class Read:
    """File that was read.

    Attributes:
        defined: the statements that bind each name at the top.
        imported: the origin of each name that an import binds, at any depth; of a module, with no name in it.
    """

    defined: dict[str, list[ast.AST]] = field(default_factory=dict)
    imported: dict[str, Place] = field(default_factory=dict)


def read(text: str) -> Read:
    found, tree = Read(), ast.parse(text)
    for node in tree.body:
        for name in _bound(node):
            found.defined.setdefault(name, []).append(node)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                first = each.name.partition('.')[0]
                found.imported[each.asname or first] = (each.name if each.asname else first, '')
        elif isinstance(node, ast.ImportFrom):
            found.imported.update({each.asname or each.name: (node.module, each.name) for each in node.names})
    return found


def _bound(node: ast.AST) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    return [each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)]


@functools.cache
def read_module(name: str) -> Read:
    return read(sources().get(name, ''))


def uses(node: ast.AST) -> Iterator[ast.Name | ast.Attribute]:
    """Yield the names and attributes in a statement that are evaluated; annotations are not."""
    evaluated = (value for name, value in ast.iter_fields(node) if name not in ('annotation', 'returns'))
    for value in evaluated:
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.Name | ast.Attribute):
                yield child
            if isinstance(child, ast.AST):
                yield from uses(child)


def dangers(statements: Sequence[ast.AST], file: Read) -> set[str]:
    """Return what opens, writes, executes or imports in some statements of a file."""
    found: set[str] = set()
    for node in (use for each in statements for use in uses(each)):
        first = node
        while isinstance(first, ast.Attribute):
            first = first.value
        name = first.id if isinstance(first, ast.Name) else ''
        module, imported = file.imported.get(name, ('', ''))
        origin = module.partition('.')[0]
        if isinstance(node, ast.Attribute):
            found |= {node.attr} & {*METHODS.split(), *(OF_ARRAYS.split() if origin in ARRAYS else ())}
        elif origin:
            found |= {origin} & {*MODULES.split()}
            found |= {imported} & {*OF_ARRAYS.split()} if origin in ARRAYS else set()
        elif name not in file.defined:
            found |= {name} & {*BUILT_IN.split()}
    return found


def reached(module: str, name: str) -> dict[Place, set[str]]:
    """Return the definitions that one reaches within the package, itself among them, with the dangers of each."""
    found: dict[Place, set[str]] = {}
    left = [(module, name)]
    while left:
        place = left.pop()
        file = read_module(place[0])
        if place in found:
            continue
        if place[1] not in file.defined:  # it may be handed on, or be no code of ours
            left += [file.imported[place[1]]] if place[1] in file.imported else []
            continue
        statements = file.defined[place[1]]
        found[place] = dangers(statements, file)
        left += [origin for each in statements for use in uses(each) for origin in _origins(use, file, place[0])]
    return found


def _origins(node: ast.Name | ast.Attribute, file: Read, here: str) -> Iterator[Place]:
    if isinstance(node, ast.Name):
        if node.id in file.defined:
            yield here, node.id
        elif node.id in file.imported:
            yield file.imported[node.id]
    elif isinstance(node.value, ast.Name) and node.value.id in file.imported:
        package, module = file.imported[node.value.id]
        yield f'{package}.{module}' if module else package, node.attr
