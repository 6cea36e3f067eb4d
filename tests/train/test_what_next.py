# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What a finished run suggests fits its task and its model."""

import re
from pathlib import Path

import pytest

from saccade.task.masked_lm import MaskedLM
from saccade.train.config import load_config
from saccade.train.loop import what_next

ROOT = Path(__file__).parents[2]


def suggested(name, **changes):
    config = load_config(str(ROOT / 'experiments' / name)) | changes
    return {line[2:16].strip(): line[17:] for line in what_next(name, 'runs/a', ['--config.seed=1'], config)[1:]}


def launchers(commands):
    return [re.search(r'launch/(\w+)\.py', command)[1] for command in commands.values()]


@pytest.mark.parametrize(
    ('name', 'expected'),
    [
        ('causal_lm/quickstart.py', ['train', 'generate', 'evaluate', 'train']),
        ('masked_lm/quickstart.py', ['train', 'fill_mask', 'embed', 'evaluate', 'train']),
        ('masked_lm/electra_small.py', ['train', 'fill_mask', 'embed', 'evaluate']),
    ],
)
def test_the_commands_are_what_the_task_is_good_for(name, expected):
    commands = suggested(name)
    assert launchers(commands) == expected
    assert all((ROOT / 'launch' / f'{launcher}.py').exists() for launcher in expected)
    assert all('--workdir=runs/a' in command for command in commands.values())


def test_a_task_that_says_nothing_is_only_evaluated():
    mine = {'task': {'use': 'saccade.ops.loss:cross_entropy'}}
    assert launchers(suggested('causal_lm/quickstart.py', **mine)) == ['train', 'evaluate', 'train']


def test_a_run_is_continued_for_as_many_steps_again_with_its_overrides():
    command = suggested('causal_lm/quickstart.py', steps=70)['continue it']
    assert command.endswith('--config=causal_lm/quickstart.py --config.seed=1 --workdir=runs/a --config.steps=140')


@pytest.mark.parametrize(
    ('model', 'norm'),
    [({'use': 'norm.rms:RMSNorm'}, 'norm.layer:LayerNorm'), ({'use': 'norm.layer:LayerNorm'}, 'norm.rms:RMSNorm')],
)
def test_the_part_to_change_is_another_than_the_model_has(model, norm):
    command = suggested('causal_lm/quickstart.py', model={'norm': model})['change a part']
    assert f"--config.model.norm=\"{{'use': '{norm}'}}\"" in command
    assert 'change a part' not in suggested('causal_lm/quickstart.py', model={})


def test_of_two_models_trained_together_the_one_that_is_meant_is_named():
    assert '--part=generator' in suggested('masked_lm/electra_small.py')['fill masks in']
    assert '--part' not in MaskedLM.then['fill masks in']
