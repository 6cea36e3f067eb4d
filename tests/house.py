# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The code base in numbers: lines by room, lengths of functions, parameters, docstrings.

python tests/house.py [SOURCE]
"""

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

Function = ast.FunctionDef | ast.AsyncFunctionDef

SOURCE = Path(__file__).parents[1] / 'src' / 'saccade'
PERCENTILES = (50, 90, 99, 100)


def functions(tree: ast.AST) -> list[Function]:
    return [node for node in ast.walk(tree) if isinstance(node, Function)]


def body(function: Function) -> list[ast.stmt]:
    """The statements of a function, less its docstring."""
    return function.body[1:] if ast.get_docstring(function) else function.body


def parameters(function: Function) -> int:
    """The number of parameters, without self and cls."""
    given = function.args
    named = [argument.arg for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return len([name for name in named if name not in ('self', 'cls')])


def public(node: ast.AST) -> Iterator[ast.AST]:
    """The public functions, classes and methods below a node."""
    for child in getattr(node, 'body', ()):
        if isinstance(child, (*Function.__args__, ast.ClassDef)) and not child.name.startswith('_'):
            yield child
            if isinstance(child, ast.ClassDef):
                yield from public(child)


def percentiles(values: list[int]) -> str:
    ordered = sorted(values)
    found = (ordered[min(len(ordered) * percent // 100, len(ordered) - 1)] for percent in PERCENTILES)
    return ', '.join(f'{percent}th {value}' for percent, value in zip(PERCENTILES, found, strict=True))


def show(source: Path) -> None:
    """Print the numbers of a source tree."""
    trees = {file: ast.parse(file.read_text()) for file in sorted(source.rglob('*.py'))}
    lines, files = Counter(), Counter()
    for file in trees:
        room = str(file.relative_to(source).parent)
        lines[room] += len(file.read_text().splitlines())
        files[room] += 1
    for room in sorted(lines):
        print(f'{room:24} {files[room]:4} files {lines[room]:6} lines')
    found = [function for tree in trees.values() for function in functions(tree)]
    names = Counter(
        node.attr if isinstance(node, ast.Attribute) else node.id
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute | ast.Name)
    )
    private = [each for each in found if each.name.startswith('_') and not each.name.startswith('__')]
    documented = [each for tree in trees.values() for each in public(tree)]
    single = [each for each in found if len(body(each)) == 1]
    print(f'{len(found)} functions; lines: {percentiles([each.end_lineno - each.lineno + 1 for each in found])}')
    print(f'parameters: {percentiles([parameters(each) for each in found])}')
    print(f'one statement: {len(single) / len(found):.0%}')
    once = [each for each in private if names[each.name] == 1]
    print(f'private with one caller: {len(once) / len(private):.0%} of {len(private)}')
    print(f'public without a docstring: {sum(not ast.get_docstring(each) for each in documented)} of {len(documented)}')


if __name__ == '__main__':
    show(Path(sys.argv[1]) if len(sys.argv) > 1 else SOURCE)
