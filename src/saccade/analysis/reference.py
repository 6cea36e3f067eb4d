# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Reference pages of the documentation, in Markdown: parts, protocols, launchers, experiments, from their docstrings.

A part's page is that of its module. It has its config name, the module's docstring, tables of its fields and of its
public methods, and the capabilities it declares. A room's page lists its parts by kind.
"""

import ast
import functools
import inspect
import itertools
import re
import sys
import textwrap
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import jax
import optax

import saccade.types
from saccade.analysis.catalogue.catalogue import KINDS, Catalogue
from saccade.analysis.catalogue.matrix import COLUMNS, NONE, counts, tables
from saccade.analysis.catalogue.metrics import metric_table
from saccade.analysis.catalogue.readme import markdown
from saccade.analysis.equations import is_equation, terms
from saccade.analysis.oracles import Oracle, declared_oracles
from saccade.analysis.report.figures import Table
from saccade.build import defaults, fields, load
from saccade.parts import parts, sources
from saccade.types import Part, Range

Oracles: TypeAlias = Mapping[str, Sequence[Oracle]]

_CODE = re.compile(r'(`[^`]+`|https?://[^\s,;)]*[^\s,;).:])')
_MARKUP = re.compile(r'([\\*_<>\[\]|$#{}^~])')
_ATTRIBUTES = re.compile(r'\b(?:Attributes|Args):')
_FIELD = re.compile(r' {4}(\w+(?:, \w+)*): (.*)')
_SECTION = re.compile(r'\n\s*(?:Raises|Returns):')
_PUBLIC = {  # where jax and optax show what they define elsewhere
    'jax.nn': jax.nn,
    'jax.nn.initializers': jax.nn.initializers,
    'jax.numpy': jax.numpy,
    'optax': optax,
}


@functools.cache
def rooms() -> Mapping[str, list[Any]]:
    """Return the parts by room, which is the first word of their import paths; parts of one module are adjacent."""
    found: dict[str, list[Any]] = {}
    for module, names in parts().items():
        found.setdefault(module.partition('.')[0], []).extend(load(f'{module}:{name}') for name in names)
    return found


def write(root: Path, folder: Path) -> None:
    """Write the pages into a folder.

    Args:
        root: of the repository, with `launch/`, `experiments/` and `tests/`.
    """
    written = {
        **{room: room_page(room) for room in rooms()},
        'capabilities': capabilities_page(),
        'metrics': metrics_page(),
        'protocols': protocols_page(),
        'launchers': launchers_page(root / 'launch'),
        'experiments': experiments_page(root / 'experiments'),
    }
    written['index'] = index_page(list(written))
    # A room of one module has one page.
    oracles = declared_oracles(root)
    written |= {_place(module): module_page(module, oracles) for module in _held()}
    for name, text in written.items():
        file = folder / f'{name}.md'
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def index_page(names: Sequence[str]) -> str:
    """Return the first page of the reference: its contents."""
    contents = '\n'.join(['```{toctree}', ':maxdepth: 1', '', *names, '```'])
    return (
        '# Reference\n\nThese pages are made from the code when the documentation is built. A part is named as a config'
        ' names it under `use`. [Axes and dtypes](../concepts/axes_and_dtypes.md) has the letters of axes.\n\n'
        f'{contents}\n'
    )


def capabilities_page() -> str:
    """Return the page with the tables that `launch/variants.py` prints."""
    ours = Catalogue.ours()
    found = [f'## {table.title.capitalize()}\n\n{markdown(_code_first(table))}' for table in tables(ours)]
    intro = f'What each part declares; the contract tests prove it. {counts(ours).capitalize()}.'
    return '\n\n'.join(['# Capabilities', intro, *found]) + '\n'


def room_page(room: str) -> str:
    """Return the page of a room: its docstring, then its parts by kind, each with the page that describes it."""
    about = _about_room(room)
    sections = [f'# {_title(about)}', prose(about)]
    by_kind: dict[str, list[tuple[str, str]]] = {kind.name: [] for kind in KINDS} | {'': []}
    for module, held in _held().items():
        if module.split('.')[1] == room:
            kinds = (kind.name for kind in KINDS for part in held if part in Catalogue.ours().parts[kind])
            links = ', '.join(f'[`{Part(part).name}`]({_place(module)}.md)' for part in held)
            by_kind[next(kinds, '')].append((links, _summary(module)))
    found = {kind: rows for kind, rows in by_kind.items() if rows}
    for kind, rows in found.items():
        sections += [f'## {kind.capitalize() or "Other parts"}'] if len(found) > 1 else []
        sections += [markdown(Table('', ('part', 'about'), rows))]
    sections += bases_section(rooms()[room])
    return '\n\n'.join(filter(None, sections)) + '\n'


def module_page(module: str, oracles: Oracles | None = None) -> str:
    """Return the page of a module: its docstring and its parts.

    Args:
        oracles: of all parts by name; None to leave them out.
    """
    own, words = _held()[module], prose(inspect.getdoc(sys.modules[module]) or '')
    room, *inner = module.split('.')[1:]
    up = f'Part of [{_title(_about_room(room))}]({"../" * len(inner)}{room}.md)' if inner else ''
    if len(own) == 1 and words and _is_class(own[0]):
        sections = [f'# {escaped(own[0].__name__)}', up, f'`{Part(own[0]).name}`', words]
        sections += [part_section(own[0], oracles, after_its_module=True)]
    else:
        sections = [f'# {escaped(module.removeprefix("saccade."))}', up, words]
        for part in own:
            sections += [f'## {escaped(part.__name__)}', f'`{Part(part).name}`', part_section(part, oracles)]
    # Pages of parts are reached from their room, not from the contents, which every page repeats.
    return '\n\n'.join(filter(None, ['---\norphan: true\n---' if inner else '', *sections])) + '\n'


@functools.cache
def _held() -> Mapping[str, Sequence[Any]]:
    """Return the parts by module."""
    every = itertools.chain(*rooms().values())
    return {module: list(held) for module, held in itertools.groupby(every, lambda part: part.__module__)}


def _place(module: str) -> str:
    """Return the path of a module's page in the folder of the reference, without its ending."""
    return module.removeprefix('saccade.').replace('.', '/')


def _about_room(room: str) -> str:
    return ast.get_docstring(ast.parse(sources()[f'saccade.{room}'])) or room


def _title(about: str) -> str:
    return escaped(re.split('[:,.;]', about)[0])


def _summary(module: str) -> str:
    """Return the first paragraph of a module's docstring."""
    return escaped(' '.join((inspect.getdoc(sys.modules[module]) or '').partition('\n\n')[0].split()))


def part_section(part: Any, oracles: Oracles | None = None, after_its_module: bool = False) -> str:
    """Return a part's own docstring, its fields, its capabilities and its oracles.

    Args:
        oracles: of all parts by name; None to leave them out.
        after_its_module: the docstring of its module is before it, which a docstring of one line repeats.
    """
    words, texts = described(part)
    words = '' if after_its_module and '\n' not in words else words
    rows = [
        (f'`{name}`', _cell(type_words(hint)), _default(part, name, required), texts.get(name, ''))
        for name, (hint, required) in fields(part).items()
    ]
    table = markdown(Table('', ('field', 'type', 'default', 'meaning'), rows)) if rows else 'It has no fields.'
    compared = '' if oracles is None else oracles_line(part, oracles)
    return '\n\n'.join(filter(None, [words, table, methods(part), capabilities(part), compared]))


def bases_section(parts: Sequence[Any]) -> list[str]:
    """Return sections of the classes that parts inherit from and that are none themselves, with their methods."""
    inherited = [base for part in parts if _is_class(part) for base in _ours(part)[1:]]
    bases = [base for base in dict.fromkeys(inherited) if base not in parts and _methods(base)]
    sections = [(f'### `{Part(base).name}`', methods(base)) for base in bases]
    return ['## Base classes', *itertools.chain(*sections)] if sections else []


def methods(part: Any) -> str:
    """Return a table of the public methods that a class defines, then the names of those it inherits."""
    if not _is_class(part):
        return ''
    own, *bases = _ours(part)
    rows = [(f'`{name}{_cell(_arguments(made))}`', _meaning(part, name)) for name, made in _methods(own).items()]
    lines, seen = [markdown(Table('', ('method', 'meaning'), rows))] if rows else [], {*_methods(own)}
    for base in bases:
        if names := [name for name in _methods(base) if name not in seen]:
            lines.append(f'From `{Part(base).name}`: {", ".join(f"`{name}`" for name in names)}.')
            seen |= {*names}
    return '\n\n'.join(lines)


def _ours(part: type) -> list[type]:
    """A class and its bases, without those from elsewhere; protocols declare methods and define none."""
    bases = [base for base in part.__mro__[1:] if base.__module__.startswith('saccade.')]
    return [part, *(base for base in bases if not getattr(base, '_is_protocol', False))]


def _meaning(part: type, name: str) -> str:
    """The first line of a method's docstring, or of that of the method it overrides."""
    docs = (vars(base)[name].__doc__ for base in _ours(part) if name in vars(base))
    return escaped(inspect.cleandoc(next(filter(None, docs), '')).partition('\n')[0])


def _methods(made: type) -> dict[str, Any]:
    """Name -> function of the public methods and properties that a class defines itself; `setup` is Linen's."""
    found = {}
    for name, value in vars(made).items():
        method = value.fget if isinstance(value, property) else getattr(value, '__func__', value)
        if inspect.isfunction(method) and name != 'setup' and (name == '__call__' or not name.startswith('_')):
            found[name] = value if isinstance(value, property) else method
    return found


def _arguments(method: Any) -> str:
    """The arguments of a method by name, in brackets; nothing for a property."""
    if isinstance(method, property):
        return ''
    _, *arguments = inspect.signature(method).parameters.values()
    shown = [argument.replace(annotation=argument.empty) for argument in arguments]
    return f'({", ".join(map(_argument, shown))})'


def _argument(argument: inspect.Parameter) -> str:
    has_default = argument.default is not argument.empty
    return f'{argument.name}={value_words(argument.default)}' if has_default else str(argument)


def capabilities(part: Any) -> str:
    """Return what a part of the catalogue declares, in one paragraph; nothing for other parts."""
    said: dict[str, str] = {}
    for kind in KINDS:
        if part in Catalogue.ours().parts[kind]:
            spec = kind.spec(part)
            said |= {name: say(spec) for name, say in COLUMNS[kind].items()}
    yes = [name for name, value in said.items() if value == 'yes']
    no = [name for name, value in said.items() if value == NONE]
    rest = [f'{name}: {value}' for name, value in said.items() if value not in ('yes', NONE)]
    lines = [f'{title}: {", ".join(names)}.' for title, names in (('Yes', yes), ('No', no)) if names]
    return f'**Declares.** {escaped(" ".join([*lines, *(f"{line}." for line in rest)]))}' if said else ''


def oracles_line(part: Any, oracles: Oracles) -> str:
    """Return the authors of the code with which tests compare a part; empty for a part outside of the catalogue."""
    files: dict[str, dict[str, None]] = {}
    for oracle in oracles.get(Part(part).name, ()):
        files.setdefault(oracle.by, {})[f'`{oracle.file}`'] = None
    if files:
        found = (f'{escaped(by)} ({", ".join(places)})' for by, places in files.items())
        return f'**Oracle.** {"; ".join(found)}.'
    listed = any(part in Catalogue.ours().parts[kind] for kind in KINDS)
    return 'No oracle by others.' if listed else ''


def described(part: Any) -> tuple[str, dict[str, str]]:
    """Return the docstring of a class or function without its "Attributes", and what these say of each field."""
    before, _, after = _split(_own_doc(part))
    return prose(f'{before}\n\n{after}'.strip()), {name: escaped(text) for name, text in meanings(part).items()}


def meanings(part: Any) -> dict[str, str]:
    """Return what the docstrings of a part and of its bases say of its fields."""
    roots = 'saccade', part.__module__.partition('.')[0]
    bases = [base for base in part.__mro__ if base.__module__.startswith(roots)] if _is_class(part) else [part]
    said = [_split(_own_doc(base))[1] for base in bases]
    texts: dict[str, str] = {}
    for name, text in itertools.chain(*(_by_line(own).items() for own in said), _by_clause(said, fields(part))):
        texts.setdefault(name, text)
    return texts


def _own_doc(part: Any) -> str:
    """Return the docstring that the source has; a dataclass without one is given its signature, which is left out."""
    words = inspect.cleandoc(vars(part).get('__doc__') or '') if _is_class(part) else inspect.getdoc(part) or ''
    return '' if words.startswith(f'{part.__name__}(') else words


def _is_class(part: Any) -> bool:
    return isinstance(part, type)


def _split(words: str) -> tuple[str, str, str]:
    """Return the text before "Attributes", their text, and what follows, without what is raised."""
    found = _ATTRIBUTES.search(words)
    if not found:
        return _SECTION.split(words)[0].strip(), '', ''
    own, gap, after = words[found.end() :].partition('\n\n')
    while gap and after.startswith(' '):
        more, gap, after = after.partition('\n\n')
        own = f'{own}\n{more}'
    return words[: found.start()].strip(), _SECTION.split(own)[0], after


def _by_line(own: str) -> dict[str, str]:
    """Return what "Attributes" in lines of the form `name: text` say of each field."""
    found: dict[str, str] = {}
    current: list[str] = []
    for line in own.splitlines():
        if match := _FIELD.match(line):
            current = match[1].split(', ')
            found |= dict.fromkeys(current, match[2])
        elif line.strip():
            found |= {name: f'{found[name]} {line.strip()}' for name in current}
    return found


def _by_clause(said: Iterable[str], names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield each field with the clause that tells of it, from "Attributes" that are sentences."""
    clauses = []
    for own in said:
        if not _by_line(own):
            clauses += [clause.strip(' .') for clause in re.split(r'[;.]\s', ' '.join(own.split()))]
    for name in names:
        of_it = [clause for clause in clauses if re.search(rf'\b{name}\b', clause) and clause != name]
        of_it.sort(key=lambda clause: not clause.startswith(name))
        if of_it:
            yield name, re.sub(rf'^{name}[:,] ', '', of_it[0])


def type_words(hint: Any) -> str:
    """Return the type of a field as a config takes it, as `int, at least 1` or `part (Norm)`."""
    origin, given = typing.get_origin(hint), typing.get_args(hint)
    if hint is Part or origin is Part:
        kind = given[0] if given else None
        if typing.get_origin(kind) is Callable:
            return 'part (function)'
        return f'part ({kind.__name__})' if isinstance(kind, type) and not typing.get_args(kind) else 'part'
    if origin in (typing.Union, types.UnionType):
        return ' or '.join(dict.fromkeys(map(type_words, given)))
    if origin is typing.Literal:
        return ' or '.join(map(repr, given))
    if hasattr(hint, '__metadata__'):
        bounds = [str(each) for each in hint.__metadata__ if isinstance(each, Range)]
        return ', '.join([type_words(given[0]), *bounds])
    if origin is tuple and Ellipsis in given:
        pair = typing.get_args(given[0])
        if typing.get_origin(given[0]) is tuple and len(pair) == 2 and pair[0] is str:
            return f'dict of {type_words(pair[1])}'
        return f'list of {type_words(given[0])}'
    if origin is tuple:
        return f'list of {", ".join(map(type_words, given))}'
    if hint is type(None):
        return 'None'
    return getattr(hint, '__name__', str(hint).removeprefix('typing.')) if origin is None else 'value'


def _default(part: Any, name: str, required: bool) -> str:
    if required:
        return 'required'
    words = value_words(defaults(part).get(name))
    is_dict = words == '[]' and type_words(fields(part)[name][0]).startswith('dict')
    return '`{}`' if is_dict else f'`{_cell(words)}`'


def value_words(value: Any) -> str:
    """Return a default as a config would write it."""
    if isinstance(value, Part):
        given = ''.join(f", '{name}': {value_words(argument)}" for name, argument in value.arguments)
        return f"{{'use': '{_public_name(value)}'{given}}}"
    if isinstance(value, tuple | list):
        return f'[{", ".join(map(value_words, value))}]'
    if isinstance(value, float):
        return f'{value:.6g}'
    return repr(value) if isinstance(value, str | int | None) else getattr(value, '__name__', repr(value))


def _public_name(part: Part) -> str:
    """Return the import path of a part, by the public module where it is one of jax or optax."""
    name = part.target.__name__
    public = (module for module, held in _PUBLIC.items() if getattr(held, name, None) is part.target)
    return f'{next(public)}:{name}' if '._src' in part.target.__module__ else part.name


@dataclass(frozen=True)
class Flag:
    """Flag of a launcher. Attributes: name; type, in words; default, as Markdown; help, its text."""

    name: str
    type: str
    default: str
    help: str


def launcher_flags(file: Path) -> list[Flag]:
    """Return the flags that a file defines, read from its source."""
    tree = ast.parse(file.read_text())
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute))
    return [_flag(call, tree) for call in calls if call.func.attr.startswith('DEFINE_')]


def _flag(call: ast.Call, tree: ast.Module) -> Flag:
    name, default, *rest = (_evaluated(argument, tree) for argument in call.args)
    kind = call.func.attr.removeprefix('DEFINE_')
    if kind.endswith('enum'):
        kind = f'{kind}: {", ".join(rest[0])}'
    words = next(said for said in rest if isinstance(said, str))
    shown = '' if default is None else f'`{_cell(repr(default))}`'
    return Flag(name, kind.replace('multi_', 'list of ').replace('enum', 'one'), shown, words)


def _evaluated(node: ast.expr, tree: ast.Module) -> Any:
    """Return the value of an expression of literals, of what a file imports from Saccade, and of what it assigns."""
    names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    scope: dict[str, Any] = {}
    for each in tree.body:
        if isinstance(each, ast.ImportFrom) and each.module.startswith('saccade.'):
            scope |= {held.name: load(f'{each.module}:{held.name}') for held in each.names if held.name in names}
        if isinstance(each, ast.Assign) and names & {getattr(target, 'id', '') for target in each.targets}:
            # Of a dict the keys are enough, and its values may be functions of the file.
            value = ast.List(each.value.keys, ast.Load()) if isinstance(each.value, ast.Dict) else each.value
            scope[each.targets[0].id] = _evaluated(value, tree)
    return eval(compile(ast.fix_missing_locations(ast.Expression(node)), '<flag>', 'eval'), scope)


def metrics_page() -> str:
    """Return the page of metrics: each with its best end, its range and its unit, as the code declares them."""
    table = metric_table()
    rows = [(f'`{name}`', *said, ', '.join(f'`{use}`' for use in uses.split(', '))) for name, *said, uses in table.rows]
    said = (
        'What a run logs, as the code that computes it declares it. `best` is the end that reports, searches and '
        '`keep_best` take for the best; intervals end at the range. A run writes its own declarations to '
        '`declared_metrics.json`. A metric that is not declared needs `--best=lowest` or `--best=highest`. What '
        'depends on `batch_size` is comparable between runs of one size only. Denoisers of several modes log '
        '`loss_MODE` and `accuracy_MODE` too, of each mode.'
    )
    return f'# Metrics\n\n{said}\n\n{markdown(Table("", table.columns, rows))}\n'


def protocols_page() -> str:
    """Return the page of protocols: each with its docstring, and its methods as the source declares them."""
    sections = [
        '# Protocols',
        'A part of your own is any class with the methods of the protocol of its kind; it need not inherit from it. '
        'All are in `saccade.types`. The guides to [variants](../guides/own_variant.md), '
        '[tasks](../guides/own_task.md) and [data](../guides/own_data.md) have examples.',
    ]
    for name in dir(saccade.types):
        made = getattr(saccade.types, name)
        if getattr(made, '_is_protocol', False):
            sections += [f'## {name}', prose(_own_doc(made)), _declared(made)]
    return '\n\n'.join(filter(None, sections)) + '\n'


def _declared(protocol: type) -> str:
    """Return the methods of a protocol as code, with types and docstrings; nothing if it has none of its own."""
    source = inspect.getsource(protocol)
    own = [node for node in ast.parse(source).body[0].body if isinstance(node, ast.FunctionDef)]
    found = [textwrap.dedent(ast.get_source_segment(source, node, padded=True)) for node in own]
    return '\n'.join(['```python', '\n\n'.join(found), '```']) if found else ''


def launchers_page(folder: Path) -> str:
    """Return the page of launchers: each with its docstring and its flags."""
    sections = [
        '# Launchers',
        'Every launcher takes `--trust` too: names or modules that the run or the checkpoint to be opened may import. '
        'Those that take `--config` take `--config.FIELD=VALUE` for any field.',
    ]
    for file in sorted(folder.glob('[a-z]*.py')):
        rows = [
            (f'`--{flag.name}`', escaped(flag.type), flag.default, escaped(flag.help)) for flag in launcher_flags(file)
        ]
        table = markdown(Table('', ('flag', 'type', 'default', 'meaning'), rows))
        sections += [f'## launch/{escaped(file.name)}', prose(_docstring(file)), table]
    return '\n\n'.join(sections) + '\n'


def experiments_page(folder: Path) -> str:
    """Return the page of experiments and sweeps, by folder: each with its docstring."""
    said = (
        'A file here is what `--config` takes; those of `sweeps/` and `suites/` are what `--sweep` and `--suite` take.'
    )
    sections = ['# Experiments', said]
    for room in sorted(path for path in folder.iterdir() if path.is_dir()):
        files = [file for file in sorted(room.glob('*.py')) if re.search(r'^def get_\w+\(', file.read_text(), re.M)]
        sections += [f'## {escaped(room.name)}'] if files else []
        for file in files:
            sections += [f'### {escaped(file.stem)}', f'`experiments/{room.name}/{file.name}`', prose(_docstring(file))]
    return '\n\n'.join(sections) + '\n'


def _docstring(file: Path) -> str:
    return ast.get_docstring(ast.parse(file.read_text())) or ''


def prose(words: str) -> str:
    """Return a docstring as Markdown: equations as TeX, other indented lines and commands as code, the rest as text."""
    lines = list(_fenced(words.splitlines()))
    return '\n'.join(lines).strip()


def _fenced(lines: Sequence[str]) -> Iterator[str]:
    """Put fences around runs of code; a blank line within such a run is part of it."""
    held: list[str] = []
    for number, line in enumerate(lines):
        follows = next((later for later in lines[number:] if later.strip()), '')
        inside = _is_code(line) or (held and not line.strip() and _is_code(follows))
        if inside:
            held.append(line)
            continue
        if held:
            yield from _displayed(held)
            held = []
        ends_by_source = re.search(r'https?://\S+$', line) and ''.join(lines[number + 1 : number + 2]).strip()
        yield escaped(line) + ('\\' if ends_by_source else '')
    if held:
        yield from _displayed(held)


def _is_code(line: str) -> bool:
    return line.startswith(('    ', 'python '))


def _displayed(lines: Sequence[str]) -> Iterator[str]:
    """Yield equations, a paragraph per line, or code."""
    block = inspect.cleandoc('\n' + '\n'.join(lines))
    if is_equation(block):
        paragraphs = '\n\n'.join(' '.join(f'{{math}}`{term}`' for term in terms(line)) for line in block.splitlines())
        yield from ('', '```{container} equations', *paragraphs.splitlines(), '```', '')
    else:
        yield from ('', '```text', *block.splitlines(), '```', '')


def escaped(line: str) -> str:
    """Return text in which Markdown finds no markup but code and addresses."""
    made = []
    for number, piece in enumerate(_CODE.split(line)):
        if number % 2 == 0:
            made.append(_MARKUP.sub(r'\\\1', piece))
        else:
            made.append(_cell(piece) if piece.startswith('`') else f'<{piece}>')
    return ''.join(made)


def _cell(text: str) -> str:
    """Return text in which no bar ends a cell of a table."""
    return text.replace('|', r'\|')


def _code_first(table: Table) -> Table:
    """Return the table with the import paths in its first column as code."""
    return Table(table.title, ('part', *table.columns[1:]), [(f'`{use}`', *said) for use, *said in table.rows])
