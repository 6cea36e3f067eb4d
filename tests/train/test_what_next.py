# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What a finished run suggests fits its task and its model; `tests/launch/test_what_next_runs.py` runs it."""

import shlex
from pathlib import Path
from unittest import mock

import pytest

from saccade.parts import parts
from saccade.task.distillation import Distillation
from saccade.task.masked_lm import MaskedLM
from saccade.train.config import load_config
from saccade.train.next_steps import SWAPS, quoted, what_next

ROOT = Path(__file__).parents[2]
ODD = ('runs/my run', 'runs/$(touch x)', "runs/it's", 'runs/a"b', 'runs/`x`', 'runs/a;b', 'runs/ü')


def suggested(name, workdir='runs/a', **changes):
    lines = what_next(workdir, load_config(str(ROOT / 'experiments' / name)) | changes)
    return {line[2:17].strip(): shlex.split(line[18:], comments=True) for line in lines[1:]}


def launchers(commands):
    return [Path(command[1]).stem for command in commands.values()]


@pytest.mark.long
@pytest.mark.parametrize(
    ('name', 'expected'),
    [
        ('causal_lm/quickstart.py', ['train', 'generate', 'evaluate', 'train']),
        ('masked_lm/quickstart.py', ['train', 'fill_mask', 'embed', 'evaluate', 'train']),
        ('masked_lm/diffusion_tiny.py', ['train', 'generate', 'evaluate', 'train']),
        ('translation/dates_recurrent.py', ['train', 'translate', 'evaluate', 'train']),
        ('finetune/sort.py', ['train', 'predict', 'evaluate', 'train']),
        ('embedding/skip_gram.py', ['train', 'embed', 'evaluate']),
        ('pairs/sentence_bert.py', ['train', 'search', 'evaluate', 'train']),
    ],
)
def test_the_commands_are_what_the_task_is_good_for(name, expected):
    commands = suggested(name)
    assert launchers(commands) == expected
    assert all((ROOT / 'launch' / f'{launcher}.py').exists() for launcher in expected)
    assert all(any(word.startswith('--workdir=runs/a') for word in command) for command in commands.values())


def test_a_task_that_says_nothing_is_only_evaluated():
    mine = {'task': {'use': 'task.base:TaskBase'}}
    assert launchers(suggested('embedding/skip_gram.py', **mine)) == ['train', 'evaluate']


def test_data_without_a_tokenizer_are_not_sampled_as_text():
    data = load_config(str(ROOT / 'experiments/diagnostics/parity.py'))['data']
    with mock.patch('saccade.train.next_steps._fits', return_value=False):
        assert 'sample from it' in suggested('causal_lm/quickstart.py')
        assert 'sample from it' not in suggested('causal_lm/quickstart.py', data=data)


def test_a_run_is_continued_for_as_many_steps_again_by_its_folder_alone():
    mine = {'steps': 140, 'logging': [{'use': 'my_sinks:Mine'}]}
    _, _, *arguments = suggested('embedding/skip_gram.py', **mine)['continue it']
    assert arguments == ['--workdir=runs/a', '--extend=rewarmed:140', '--trust=my_sinks:Mine']


@pytest.mark.long
def test_a_part_swapped_for_that_of_pretrained_weights_is_said():
    config = load_config(str(ROOT / 'experiments/causal_lm/quickstart.py'))
    with mock.patch('saccade.train.next_steps._fits', return_value=True):  # the weights are not there
        (line,) = (line for line in what_next('runs/a', config | {'init_from': 'runs/b'}) if 'change a part' in line)
    assert line.endswith('  # the weights of runs/b were trained with another position')
    assert all('#' not in line for line in what_next('runs/a', config))


@pytest.mark.parametrize('workdir', ODD)
def test_a_folder_of_any_name_can_be_pasted(workdir):
    commands = suggested('embedding/skip_gram.py', workdir)
    assert all(f'--workdir={workdir}' in command for command in commands.values())


@pytest.mark.parametrize('words', [ODD, ("--config.model.norm={'use': 'a:B'}", '{\'use\': "$x"}', '', '\\', '!', '-x')])
def test_words_come_back_from_a_shell_as_they_were(words):
    assert shlex.split(quoted(*words)) == list(words)


@pytest.mark.long
def test_a_part_is_swapped_for_another_that_the_model_can_have():
    (swap,) = (word for word in suggested('causal_lm/quickstart.py')['change a part'] if 'use' in word)
    assert swap == "--config.model.**.mixer.position={'use': 'position.alibi:ALiBi'}"
    (swap,) = (word for word in suggested('causal_lm/linear_lm.py')['change a part'] if 'use' in word)
    assert 'ALiBi' not in swap  # a kernel without scores has none


def test_only_parts_of_ours_are_suggested():
    assert {part for _, part in SWAPS} <= {f'{module}:{name}' for module, names in parts().items() for name in names}


def test_a_run_of_parts_of_the_users_own_is_opened_with_their_modules_trusted():
    mine = {'baseline': {'use': 'my_lab.counts:nats'}, 'logging': [{'use': 'my_sinks:Mine'}]}
    commands = suggested('embedding/skip_gram.py', **mine)
    assert '--trust=my_lab.counts:nats' in commands['evaluate it']
    assert '--trust=my_lab.counts:nats' in commands['nearest words']


@pytest.mark.long
def test_of_two_models_trained_together_the_one_that_is_meant_is_named():
    assert '--part=generator' in suggested('masked_lm/electra_small.py')['fill masks in']
    assert '--part=student' in Distillation.then['fill masks in']
    assert '--part' not in MaskedLM.then['fill masks in']
