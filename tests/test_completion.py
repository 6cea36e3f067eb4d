# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Completion of the command `saccade`: what may follow, and the script that asks for it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from saccade import commands
from saccade.completion import SCRIPTS, candidates
from saccade.train.config import load_config
from saccade.train.config_file import run_file

REPOSITORY = Path(__file__).parents[1]
LAUNCHERS = {file.stem: file for file in sorted((REPOSITORY / 'launch').glob('[a-z]*.py'))}


def completed(*words):
    return candidates(words, LAUNCHERS, ['completion'])


@pytest.mark.parametrize(
    ('words', 'found'),
    [
        (('tra',), ['train', 'translate']),
        (('comp',), ['completion']),
        (('completion', ''), ['bash', 'zsh']),
        (('trian', '--con'), []),
        (('train', '--conf'), ['--config=', '--config.']),
        (('train', '--rest'), ['--restart']),
        (('train', '--tru'), ['--trust=']),
        (('generate', '--config'), []),
        (('train', '--config=causal_lm/quick'), ['--config=causal_lm/quickstart']),
        (('sweep', '--sweep=hea'), ['--sweep=heads']),
        (('train', '--config=causal_lm/quickstart', '--config.mod'), ['--config.model.']),
        (
            ('train', '--config=experiments/causal_lm/quickstart.py', '--config.model.block.mixer.h'),
            ['--config.model.block.mixer.heads='],
        ),
        (('train', '--config=causal_lm/quickstart', '--config.model.no_such.h'), []),
        (('train', '--config=causal_lm/none', '--config.mod'), []),
        (('train', '--config.mod'), []),
        (('fields', 'norm.r'), ['norm.rms:RMSNorm']),
        (('fields', 'data.tokenizer.byte:'), ['data.tokenizer.byte:Byte']),
        (('fields', '--part'), ['--part=']),
        (('train', 'norm.r'), []),
    ],
)
def test_words_are_completed(words, found):
    assert completed(*words) == found


def test_a_file_of_ones_own_is_asked_for_its_fields(tmp_path):
    file = tmp_path / 'mine.py'
    file.write_text("def get_config(): return {'steps': 3, 'model': {'use': 'a:B', 'blocks': [{'width': 2}]}}")
    before = ('train', f'--config={file}')
    assert completed(*before, '--config.') == ['--config.steps=', '--config.model.']
    assert completed(*before, '--config.model.') == ['--config.model.blocks.']
    assert completed(*before, '--config.model.blocks.0.') == ['--config.model.blocks.0.width=']
    file.write_text('no Python')
    assert completed(*before, '--config.') == []


def test_every_experiment_and_sweep_that_is_offered_can_be_loaded():
    configs = [word.removeprefix('--config=') for word in completed('train', '--config=')]
    sweeps = [word.removeprefix('--sweep=') for word in completed('sweep', '--sweep=')]
    assert {'causal_lm/quickstart', 'translation/dates'} <= {*configs}
    for name in configs:
        assert run_file('config', name, 'get_config')
    for name in sweeps:
        assert run_file('sweep', name, 'get_sweep')


def test_a_field_that_is_offered_may_be_overridden():
    (override,) = completed('train', '--config=causal_lm/quickstart', '--config.model.block.mixer.head')
    assert load_config('causal_lm/quickstart', [f'{override}2'])['model']['block']['mixer']['heads'] == 2


@pytest.mark.parametrize(
    ('words', 'found'),
    [
        (['train', '--config=causal_lm/quickstart', '--config.model.wid'], '--config.model.width='),
        (['fields', 'norm.rms'], 'norm.rms:RMSNorm'),
    ],
)
def test_it_answers_without_jax(words, found):
    program = (
        'import sys; from saccade.commands import main; '
        f"sys.argv = ['saccade', 'complete', *{words}]; main(); print('jax' in sys.modules)"
    )
    said = subprocess.run([sys.executable, '-c', program], capture_output=True, text=True)
    assert said.stdout == f'{found}\nFalse\n'


@pytest.mark.skipif(shutil.which('bash') is None, reason='needs bash')
@pytest.mark.parametrize(
    ('line', 'found'),
    [
        ('saccade transl', 'translate'),
        ('saccade train --config=causal_lm/quick', 'causal_lm/quickstart'),
        ('saccade train --config=causal_lm/quickstart --config.model.wid', '--config.model.width='),
        ('saccade completion ', 'bash zsh'),
        ('saccade fields norm.rm', 'norm.rms:RMSNorm'),
        ('saccade fields norm.rms:RMS', 'RMSNorm'),
    ],
)
def test_bash_completes_a_line(line, found, tmp_path):
    command = tmp_path / 'saccade'
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -c "from saccade.commands import main; main()" "$@"\n')
    command.chmod(0o755)
    ask = f'{SCRIPTS["bash"]}\ncompopt() {{ :; }}\nCOMP_LINE=$1 COMP_POINT=${{#1}}\n_saccade\necho "${{COMPREPLY[@]}}"'
    path = {**os.environ, 'PATH': f'{tmp_path}:{os.environ["PATH"]}'}
    said = subprocess.run(['bash', '-c', ask, 'bash', line], env=path, capture_output=True, text=True)
    assert (said.stdout, said.stderr) == (f'{found}\n', '')


@pytest.mark.parametrize('shell', SCRIPTS)
def test_the_script_of_a_shell_is_printed(shell, monkeypatch, capsys):
    monkeypatch.setattr(sys, 'argv', ['saccade', 'completion', shell])
    commands.main()
    assert capsys.readouterr().out == SCRIPTS[shell]


def test_a_shell_that_there_is_none_for_is_refused(monkeypatch, capsys):
    monkeypatch.setattr(sys, 'argv', ['saccade', 'completion', 'fish'])
    with pytest.raises(SystemExit):
        commands.main()
    assert 'saccade completion bash or saccade completion zsh' in capsys.readouterr().err
