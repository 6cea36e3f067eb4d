# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The documentation is true: its Python runs; its commands name launchers, flags, fields and files that are there."""

import functools
import re
import shlex
import subprocess
import sys
import textwrap
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

from saccade.analysis.reference import Flag, launcher_flags
from saccade.axes import LETTERS
from saccade.build import load
from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.train.setup import ExperimentCost
from saccade.types import UserError

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / 'README.md', *sorted(path for path in (ROOT / 'docs').rglob('*.md') if path.parent.name != 'reference')]
QUICKSTART = 'experiments/causal_lm/quickstart.py'
PYTHON = re.compile(r'^( *)```python\n(.*?)^\1```$', re.M | re.S)
SHELL = re.compile(r'^ *```shell\n(.*?)^ *```$|^((?: {4}[^\n]*\n)+)', re.M | re.S)  # README.md has indented lines
COMMAND = re.compile(r'^(?:srun \S+ )?python (launch/\w+\.py.*)')
INSTALLED = re.compile(r'^saccade (\w+)')  # the command of the package
IN_A_SENTENCE = re.compile(r'`(?:python )?(launch/\w+\.py .*?)`')
IN_A_TABLE = re.compile(r'^\|.*?`(--config\..*?)` \|$', re.M)
PART = re.compile(r'`([a-z_0-9]+(?:\.(?!py:)[a-z_0-9]+)+:[A-Za-z]\w*)`')
PLACEHOLDERS = ('...', 'my_', 'runs/')  # values of the reader's own

each_page = pytest.mark.parametrize('page', PAGES, ids=lambda path: str(path.relative_to(ROOT)))


@functools.cache
def flags_of(launcher: Path) -> dict[str, Flag]:
    """Flags by name; the entry point of all launchers defines some too."""
    shared = ROOT / 'src/saccade/train/process/main.py'
    return {flag.name: flag for flag in (*launcher_flags(launcher), *launcher_flags(shared))}


def shell_lines(text: str) -> list[str]:
    """Lines of a page that are for a shell, those that go on after a backslash as one."""
    blocks = PYTHON.sub('', text).replace('\\\n', ' ')
    return [line.strip() for found in SHELL.findall(blocks) for block in found for line in block.splitlines()]


def commands(text: str) -> Iterator[str]:
    """What follows `python` on the lines of a page that start a launcher, and such commands in its sentences."""
    lines = [INSTALLED.sub(r'python launch/\1.py', line) for line in shell_lines(text)]
    yield from (found[1] for line in lines if (found := COMMAND.match(line)))
    yield from IN_A_SENTENCE.findall(text)


def overrides_alone(text: str) -> Iterator[str]:
    """Lines and last cells of tables that are nothing but overrides: they are of the quickstart."""
    yield from (line for line in shell_lines(text) if line.startswith('--config.'))
    yield from IN_A_TABLE.findall(text)


def wrong(command: str) -> str:
    """Say what is wrong with a command; nothing if it is right."""
    name, *arguments = shlex.split(command, comments=True)
    launcher = ROOT / name
    if not launcher.is_file():
        return f'there is no {name}'
    known, config, overrides = flags_of(launcher), QUICKSTART, []
    if arguments and arguments[0] in re.findall(r"'(\w+)': \1\b", launcher.read_text()):  # commands of `run_main`
        arguments.pop(0)
    for argument in arguments:
        field, _, value = argument.partition('=')
        if field == '--config.help':
            continue
        if field.startswith('--config.'):
            overrides.append(argument)
            continue
        flag = known.get(field.removeprefix('--')) or known.get(field.removeprefix('--no'))
        if flag is None or not field.startswith('--'):
            return f'{name} has no flag {field}'
        kind, _, choices = flag.type.removeprefix('list of ').partition(': ')
        if kind == 'one' and value not in choices.split(', '):
            return f'{field} is one of {choices}, not {value}'
        if field in ('--config', '--sweep') and not value.startswith(PLACEHOLDERS):
            value = value if value.endswith('.py') else f'experiments/{value}.py'
            config = value if field == '--config' else config
            if not (ROOT / value).is_file():
                return f'there is no {value}'
    return refused(config, overrides)


def refused(config: str, overrides: list[str]) -> str:
    """Say why the experiment does not accept the overrides; nothing if it does.

    The runs and directories that pages start from are not there, so any value stands for one.
    """
    away = [override for override in overrides if override.startswith('--config.init_from=')]
    here = [override for override in overrides if override not in away]
    try:
        if away and 'init_from' not in load_config(str(ROOT / config)):
            return f'{config} has no init_from'
        resolved = load_config(str(ROOT / config), here)
        if here:
            Experiment.of(resolved)
    except UserError as error:
        return str(error)
    return ''


@pytest.fixture
def own_modules(page, tmp_path, monkeypatch):
    """The files of the reader's own, as a page has them: my_task.py is the block that defines a class of my_task."""
    text = page.read_text()
    for module, name in set(re.findall(r'\b(my_\w+):(\w+)', text)):
        blocks = [block for _, block in PYTHON.findall(text) if re.search(rf'^ *class {name}\b', block, re.M)]
        for block in blocks:
            (tmp_path / f'{module}.py').write_text(textwrap.dedent(block))
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for module in [name for name in sys.modules if name.startswith('my_')]:
        del sys.modules[module]


@each_page
@pytest.mark.usefixtures('own_modules')
def test_its_commands_are_right(page):
    text = page.read_text()
    told = {command: wrong(command) for command in commands(text)}
    told |= {line: refused(QUICKSTART, shlex.split(line, comments=True)) for line in overrides_alone(text)}
    assert {command: words for command, words in told.items() if words} == {}


@each_page
def test_its_parts_are_there(page):
    names = {name for name in PART.findall(page.read_text()) if not name.startswith('my_')}
    assert {name: told for name in names if (told := absent(name))} == {}


def absent(name: str) -> str:
    """Say why nothing has this name; nothing if something has."""
    try:
        load(name)
    except UserError as error:
        return str(error)
    return ''


@each_page
def test_its_targets_of_make_are_there(page):
    targets = set(re.findall(r'^([a-z]+):', (ROOT / 'Makefile').read_text(), re.M))
    assert {found[1] for line in shell_lines(page.read_text()) if (found := re.match('make ([a-z]+)', line))} <= targets


@pytest.fixture(scope='module')
def trained(tmp_path_factory):
    """A folder with the run that `make train` makes, after two steps."""
    folder = tmp_path_factory.mktemp('trained')
    command = [ROOT / 'launch/train.py', f'--config={ROOT / QUICKSTART}', '--config.steps=2']
    subprocess.run([sys.executable, *command, '--workdir=runs/quickstart'], cwd=folder, check=True, capture_output=True)
    return folder


def pages_with_python():
    """Pages, marked by the environment that has what their blocks import."""
    for page in PAGES:
        if blocks := ''.join(block for _, block in PYTHON.findall(page.read_text())):
            mark = pytest.mark.oracle if 'import torch' in blocks else pytest.mark.long
            yield pytest.param(page, marks=mark, id=page.stem)


@pytest.mark.parametrize('page', [*pages_with_python()])
def test_its_python_runs(page, monkeypatch, request):
    if any("'runs/quickstart'" in block for _, block in PYTHON.findall(page.read_text())):
        monkeypatch.chdir(request.getfixturevalue('trained'))
    module = types.ModuleType(f'page_{page.stem}')
    monkeypatch.setitem(sys.modules, module.__name__, module)  # where dataclasses look their own module up
    for _, block in PYTHON.findall(page.read_text()):
        exec(compile(textwrap.dedent(block), str(page), 'exec'), vars(module))


@pytest.mark.long
@pytest.mark.parametrize('line', IN_A_TABLE.findall((ROOT / 'docs/guides/coming_from.md').read_text()))
def test_a_line_for_newcomers_has_a_training_step(line):
    run = Experiment.of(load_config(str(ROOT / QUICKSTART), shlex.split(line)))
    assert ExperimentCost.of(run).flops > 0  # traces a step


def test_the_letters_of_axes_are_a_table():
    rows = re.findall(r'^\| `(.)` \|', (ROOT / 'docs/concepts/axes_and_dtypes.md').read_text(), re.M)
    assert sorted(rows) == sorted(LETTERS)


def test_there_are_pages_with_commands_and_with_python():
    texts = [page.read_text() for page in PAGES]
    assert sum(len(list(commands(text))) for text in texts) > 70
    assert sum(len(PYTHON.findall(text)) for text in texts) > 8


@pytest.mark.parametrize(
    ('command', 'words'),
    [
        ('launch/trane.py --workdir=runs/a', 'there is no launch/trane.py'),
        ('launch/generate.py --workdir=runs/a --tempreature=1', 'has no flag --tempreature'),
        ('launch/report.py --workdir=runs/a --best=most', 'one of lowest, highest'),
        ('launch/train.py --config=experiments/causal_lm/gone.py', 'there is no experiments/causal_lm/gone.py'),
        (f'launch/sweep.py --config={QUICKSTART} --sweep=experiments/sweeps/gone.py', 'there is no experiments/sweeps'),
        (f'launch/train.py --config={QUICKSTART} --config.model.widht=3', "no field 'widht'"),
        (f'launch/train.py --config={QUICKSTART} --config.model.width=wide', 'cannot be read as int'),
        (f"launch/train.py --config={QUICKSTART} --config.model.norm=\"{{'use': 'norm.rmz:RMSNorm'}}\"", 'norm.rmz'),
        (f'launch/train.py --config={QUICKSTART} runs/a', 'has no flag runs/a'),
        (f'launch/train.py --config={QUICKSTART} --config.model.width=64 --norestart  # small', ''),
    ],
)
def test_a_command_that_is_wrong_is_found(command, words):
    found = wrong(command)
    assert words in found
    assert bool(found) == bool(words)


@each_page
def test_its_links_and_pictures_lead_somewhere(page):
    for target in re.findall(r'\]\(([^)#\s]+)(?:#[^)]*)?\)', PYTHON.sub('', page.read_text())):
        made = '/reference/' in target or target.startswith('reference/')  # from the code, by make docs
        assert '://' in target or made or (page.parent / target).exists(), target
