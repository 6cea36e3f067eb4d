# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Filling masks in from the command line."""

import json

import pytest

TEXT = 'the model [MASK] a [MASK] and writes'


@pytest.mark.long
def test_people_see_the_choices_of_each_mask_and_the_text_after_each_turn(runner, encoder):
    done = runner.run('fill_mask', f'--workdir={encoder}', f'--text={TEXT}', '--turns=2', '--top=3')
    assert done.returncode == 0, done.stderr
    first, second, *turns = done.stdout.splitlines()
    assert first.startswith('mask 1   ')
    assert second.startswith('mask 2   ')
    assert len(first.split(', ')) == 3
    assert [turn.count('[MASK]') for turn in turns] == [1, 0]
    assert turns[-1].startswith('the model ')
    assert turns[-1].endswith(' and writes')


@pytest.mark.long
def test_programs_get_the_same_as_one_json_object(runner, encoder):
    done = runner.run('fill_mask', f'--init_from={encoder}', f'--text={TEXT}', '--json')
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found['text'] == TEXT
    first, second = found['masks']
    assert [len(first['tokens']), len(second['probabilities'])] == [5, 5]
    assert found['turns'] == [f'the model {first["tokens"][0]} a {second["tokens"][0]} and writes']
    done = runner.run('fill_mask', f'--init_from={encoder}', f'--text={TEXT}', '--json', '--dtype=bfloat16')
    coarse = json.loads(done.stdout)['masks'][0]['probabilities']
    assert coarse != first['probabilities']
    assert coarse == pytest.approx(first['probabilities'], rel=0.1)


@pytest.mark.long
@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        (['--text=the model'], "the text has no [MASK], so there is nothing to fill in: 'the model'"),
        ([], 'give --text'),
        ([f'--text={TEXT}', '--mode=[R]'], '--mode has no effect on a masked language model'),
    ],
)
def test_what_has_no_mask_or_no_effect_is_one_line(runner, encoder, arguments, words):
    done = runner.run('fill_mask', f'--workdir={encoder}', *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count('\n') == 1


@pytest.mark.long
def test_a_model_of_another_kind_is_one_line(runner, finished):
    done = runner.run('fill_mask', f'--workdir={finished}', f'--text={TEXT}')
    assert done.returncode == 2
    assert "no head 'masked'" in done.stderr
    assert done.stderr.count('\n') == 1
