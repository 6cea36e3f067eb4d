# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Commands of SCAN are as many as were published, and are carried out as its examples say."""

import pytest

from saccade.data.synthetic.drawing import Draws
from saccade.data.synthetic.generated import PairGenerator
from saccade.data.synthetic.scan import JOINTS, PHRASES, Scan, actions
from saccade.types import UserError

PUBLISHED = {
    'jump': 'JUMP',
    'jump left': 'LTURN JUMP',
    'turn left twice': 'LTURN LTURN',
    'jump thrice': 'JUMP JUMP JUMP',
    'jump around right': 'RTURN JUMP RTURN JUMP RTURN JUMP RTURN JUMP',
    'turn opposite left after walk left': 'LTURN WALK LTURN LTURN',
    'jump opposite left and walk thrice': 'LTURN LTURN JUMP WALK WALK WALK',
    'jump opposite left after walk around left': 'LTURN WALK LTURN WALK LTURN WALK LTURN WALK LTURN LTURN JUMP',
}


@pytest.mark.parametrize(('command', 'done'), PUBLISHED.items())
def test_commands_are_carried_out_as_published(command, done):
    assert actions(command) == done


def test_there_are_as_many_commands_as_were_published():
    phrases = set(PHRASES)
    assert len(phrases) == len(PHRASES) == 102
    assert len(phrases) + len(JOINTS) * len(phrases) ** 2 == 20_910
    assert max(len(actions(phrase).split()) for phrase in phrases) == 24


def test_more_phrases_join_what_stands_before_them():
    assert actions('walk and run after jump and look') == 'JUMP WALK RUN LOOK'


def test_pairs_have_as_many_phrases_as_was_asked_for():
    generator = Scan(fewest=2, most=4)
    assert isinstance(generator, PairGenerator)
    pairs = [generator.pair(Draws(0, 0, row)) for row in range(300)]
    counts = {1 + sum(word in JOINTS for word in pair.source.split()) for pair in pairs}
    assert counts == {2, 3, 4}
    assert all(pair.target == actions(pair.source) and pair.key == pair.source for pair in pairs)


def test_fewer_than_the_fewest_are_refused():
    with pytest.raises(UserError, match='most is 1, below fewest, 2'):
        Scan(fewest=2, most=1)
