# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Text of the user's is shown as it stands, and a command that is printed can be pasted."""

import io
import shlex
import subprocess

import pytest
from rich.console import Console

from saccade.analysis.report.figures import Table
from saccade.analysis.report.runs import read_study
from saccade.sweep.plan import SweepPlan, Variant
from saccade.sweep.record import Sweep
from saccade.train.next_steps import quoted, what_next
from saccade.train.process.terminal import say
from saccade.train.setup import ExperimentCost
from saccade.train.workdir import Workdir
from saccade.types import UserError

MARKUP = ('[/b].txt', 'x[red].txt', '[link=https://a.b]c[/]', ':dog:', '[[]', '[@click=a]')
PATHS = ('two words', '$(touch x)', '`touch x`', 'a;b', "it's", '"', '-x', '--json', 'a\\', '*', '#', 'a~', 'a\nb')
CONFIG = {
    'task': {'use': 'task.causal_lm:CausalLM'},
    'model': {'norm': {'use': 'norm.rms:RMSNorm'}},
    'data': {
        'use': 'data.text.stream:TextData',
        'tokenizer': {'use': 'data.tokenizer.byte:Byte'},
        'context_length': 8,
        'pack': {'use': 'data.rows.pack:Packed'},
    },
    'steps': 3,
}


def printed(show) -> str:
    console = Console(file=io.StringIO(), force_terminal=True, width=100, color_system=None, _environ={})
    show(console)
    return console.file.getvalue()


@pytest.mark.parametrize('text', MARKUP)
class TestMarkupIsText:
    def test_on_a_console(self, text):
        assert printed(lambda console: say(console, text)) == f'{text}\n'

    def test_in_a_table_of_figures(self, text):
        shown = printed(Table(f'title {text}', ('', f'head {text}'), [(f'cell {text}', '1')]).show)
        assert all(f'{where} {text}' in shown for where in ('title', 'head', 'cell'))

    def test_in_the_table_of_a_sweep(self, text):
        cost = ExperimentCost(parameters=1, tokens=1, steps=1, flops=1)
        plan = SweepPlan(Sweep('', '', '', {}, ()), (Variant(text, (), cost, {}),))
        assert text in printed(lambda console: console.print(plan.table()))


def test_control_characters_are_shown_and_not_obeyed():
    shown = printed(lambda console: say(console, 'a\x1b[2Jb\x07\x9bc\udc80\nd'))
    assert shown == 'a\ufffd[2Jb\ufffd\ufffdc\ufffd\nd\n'


def words(command: str) -> list[str]:
    """A command as a shell reads it."""
    read = subprocess.run(['sh', '-c', f"printf '%s\\0' {command}"], capture_output=True, text=True, check=True).stdout
    assert read.split('\0')[:-1] == shlex.split(command)
    return shlex.split(command)


@pytest.mark.parametrize('path', PATHS)
class TestCommands:
    """A command that is printed can be pasted: each argument comes back as it was."""

    def test_what_to_try_next(self, path):
        _, *lines = '\n'.join(what_next(path, CONFIG)).split('\n  ')
        commands = [words(line[16:]) for line in lines]
        assert len(commands) == 3
        assert all(f'--workdir={path}' in command for command in commands)
        assert words(quoted(f'--workdir={path}-x', path)) == [f'--workdir={path}-x', path]

    def test_how_a_folder_that_is_not_there_is_made(self, path, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        for opened, launcher in ((Workdir.existing, 'train'), (read_study, 'sweep')):
            with pytest.raises(UserError) as refused:
                opened(path)
            command = str(refused.value)[str(refused.value).index('launch/') :]
            assert words(command) == [f'launch/{launcher}.py', f'--workdir={path}']

    def test_the_folder_that_a_report_is_of(self, path, tmp_path):
        run = tmp_path / path / 'run'
        run.mkdir(parents=True)
        (run / 'config.json').touch()
        with pytest.raises(UserError) as refused:
            read_study(run)
        assert words(str(refused.value).partition('the folder above it, ')[2]) == [f'--workdir={tmp_path / path}']
