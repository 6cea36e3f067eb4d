# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Flags without effect and empty texts are refused."""

import pytest
from absl import flags

from saccade.train.process.given import refuse_given, require_content, require_files
from saccade.types import UserError


@pytest.fixture
def parse():
    """Parse arguments, and return the flags alpha, layer, text and texts."""

    def parsed(*arguments):
        values = flags.FlagValues()
        defined = (
            flags.DEFINE_float('alpha', 0.6, '', flag_values=values),
            flags.DEFINE_integer('layer', -1, '', flag_values=values),
            flags.DEFINE_string('text', None, '', flag_values=values),
            flags.DEFINE_multi_string('texts', [], '', flag_values=values),
            flags.DEFINE_list('classes', None, '', flag_values=values),
        )
        values(['program', *arguments])
        return defined

    return parsed


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (['--alpha=0.6'], '--alpha has no effect without --beams'),
        (['--layer=2', '--alpha=1'], '--alpha and --layer have no effect without --beams'),
    ],
)
def test_a_given_flag_without_effect_is_refused_even_with_its_default(parse, arguments, message):
    with pytest.raises(UserError, match=f'^{message}$'):
        refuse_given('without --beams', *parse(*arguments))
    refuse_given('without --beams', *parse())


@pytest.mark.parametrize(
    ('arguments', 'name'),
    [
        (['--text='], 'text'),
        (['--text= \t'], 'text'),
        (['--texts=a', '--texts='], 'texts'),
        (['--classes='], 'classes'),
        (['--classes=a,,b'], 'classes'),
    ],
)
def test_an_empty_text_is_refused(parse, arguments, name):
    with pytest.raises(UserError, match=f'^--{name} is empty: write --{name}="...", or leave it out$'):
        require_content(*parse(*arguments)[2:])


def test_a_text_and_no_text_are_taken(parse):
    require_content(*parse()[2:])
    require_content(*parse('--text=a', '--texts=b', '--texts=c', '--classes=a,b')[2:])


def test_a_file_that_is_not_there_is_refused(parse, tmp_path):
    there = tmp_path / 'there.png'
    there.touch()
    _, _, text, texts, _ = parse(f'--text={there}', f'--texts={there}', '--texts=none.png')
    require_files(text)
    with pytest.raises(UserError, match=r'^none\.png: there is no such file$'):
        require_files(text, texts)
    require_files(*parse()[2:])
