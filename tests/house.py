# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The code base in numbers: lines by room, functions, parameters, docstrings, words; calls of one forward pass.

python tests/house.py [SOURCE]
"""

import ast
import contextlib
import functools
import io
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from saccade.build import build
from saccade.train.config import load_config
from saccade.train.loop import Options, train
from saccade.types import LayerContext

Function = ast.FunctionDef | ast.AsyncFunctionDef

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / 'src' / 'saccade'
WRITTEN = ('src/saccade', 'launch', 'experiments', 'docs')  # folders whose words are counted
MADE = ('docs/reference', 'docs/_build')  # generated pages
CLAUSES = re.compile(
    r'(What|How|That|Of|Whether|Which)\b'
)  # first words of a clause, where a docstring needs a noun or verb
WORDS = ('beside', 'stands', 'so it is', 'of which', 'those of')
PERCENTILES = (50, 90, 99, 100)
NOT_COUNTED = ('types/', 'build.py', 'axes.py', 'module.py')  # what every part is made with
MIXERS = {
    'MultiHead': {
        'use': 'attention.multi_head:MultiHead',
        'heads': 4,
        'kernel': {'use': 'attention.plain:Plain'},
        'mask': {'use': 'ops.mask:Causal'},
        'position': {'use': 'position.rotary:Rotary'},
    },
    'Delta': {'use': 'attention.delta:Delta', 'heads': 4},
}


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


def _texts() -> Iterator[tuple[str, Path, str]]:
    """Yield the room, path and text of each Python and Markdown file that people wrote, tests left out."""
    for folder in WRITTEN:
        for file in sorted((ROOT / folder).rglob('*')):
            place = str(file.relative_to(ROOT))
            if file.suffix in ('.py', '.md') and not place.startswith(MADE):
                within = file.relative_to(SOURCE).parts if file.is_relative_to(SOURCE) else ()
                yield '/'.join((folder, *within[:1])) if len(within) > 1 else folder, file, file.read_text()


def clauses() -> dict[str, list[str]]:
    """Return the places of docstrings that begin with a clause, by room."""
    places = {}
    for room, file, text in _texts():
        places.setdefault(room, [])
        for node in ast.walk(ast.parse(text)) if file.suffix == '.py' else ():
            if isinstance(node, (ast.Module, ast.ClassDef, *Function.__args__)):
                docstring = ast.get_docstring(node)
                if docstring and CLAUSES.match(docstring):
                    places[room].append(f'{file.relative_to(ROOT)}:{getattr(node, "lineno", 1)}')
    return places


def words() -> dict[str, Counter[str]]:
    """Return how often each of WORDS occurs, by room."""
    counts = {}
    for room, _, text in _texts():
        counts.setdefault(room, Counter()).update({word: len(re.findall(rf'\b{word}\b', text)) for word in WORDS})
    return counts


def show_words() -> None:
    """Print, by room, how many docstrings begin with a clause and how often each of WORDS occurs."""
    counts, openings = words(), clauses()
    print(f'{"words":24} clause first, ' + ', '.join(WORDS))
    for room, found in [*counts.items(), ('together', sum(counts.values(), Counter()))]:
        opening = len(openings[room]) if room in openings else sum(map(len, openings.values()))
        if opening or any(found.values()):
            print(f'{room:24} {opening:12} ' + ' '.join(f'{found[word]:5}' for word in WORDS))


def calls(run: Callable[[], Any]) -> Counter[tuple[str, str]]:
    """Count the calls of our functions by file and name, comprehensions left out, while something runs."""
    found: Counter[tuple[str, str]] = Counter()

    def count(frame: Any, event: str, argument: Any) -> None:
        file, name = frame.f_code.co_filename, frame.f_code.co_qualname
        if event == 'call' and file.startswith(str(SOURCE)) and not name.endswith(('comp>', 'genexpr>')):
            place = str(Path(file).relative_to(SOURCE))
            if not place.startswith(NOT_COUNTED):
                found[place, name] += 1

    sys.setprofile(count)
    try:
        run()
    finally:
        sys.setprofile(None)
    return found


def _trace(mixer: Any, params: Any, x: jax.Array, context: LayerContext, state: Any) -> None:
    jax.eval_shape(lambda params: mixer.apply(params, x, context, False, state, method='mix'), params)


def traced() -> Iterator[tuple[str, Counter[tuple[str, str]]]]:
    """Yield the calls that trace a whole sequence, and a decoding step, of each of MIXERS."""
    x, places = jnp.zeros((2, 16, 32)), jnp.tile(jnp.arange(16), (2, 1))
    contexts = [LayerContext(places[:, :length], jnp.ones((2, length), int)) for length in (16, 1)]
    for name, spec in MIXERS.items():
        mixer = build(spec)()
        params = {'params': mixer.init(jax.random.key(0), x, contexts[0], False)['params']}
        state = mixer.apply(params, x[:, :1], 16, method='init_state')
        for what, *given in (('', x, contexts[0], None), (' step', x[:, :1], contexts[1], state)):
            yield f'{name}{what}', calls(functools.partial(_trace, mixer, params, *given))


def show_quickstart() -> None:
    """Print how many calls two steps of the quickstart take, from the resolved config to the last checkpoint."""
    config = load_config(
        str(SOURCE.parents[1] / 'experiments/causal_lm/quickstart.py'), ['--config.steps=2', '--config.baseline=None']
    )
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        found = calls(functools.partial(train, config, f'{folder}/run', Options(quiet=True)))
    print(f'quickstart of two steps: {_in_words(found)}')


def size(found: Counter[tuple[str, str]]) -> tuple[int, int, int]:
    """Return the numbers of calls, functions and files."""
    return sum(found.values()), len(found), len({file for file, _ in found})


def _in_words(found: Counter[tuple[str, str]]) -> str:
    return '{} calls of {} functions in {} files'.format(*size(found))


if __name__ == '__main__':
    show(Path(sys.argv[1]) if len(sys.argv) > 1 else SOURCE)
    show_words()
    for name, found in traced():
        print(f'{name}: {_in_words(found)}')
    show_quickstart()
