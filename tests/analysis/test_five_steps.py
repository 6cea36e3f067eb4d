# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The five steps of attention by hand, and that the module agrees with them."""

import json

import numpy as np
import pytest

from saccade.studies.five_steps import START, Recipe
from saccade.types import UserError

TEXT = 'we are eating bread'


@pytest.fixture(scope='module')
def recipe() -> Recipe:
    return Recipe.of(TEXT, turns=3, width=4, seed=0)


@pytest.mark.long
def test_the_module_agrees_with_what_is_worked_out_by_hand(recipe):
    assert recipe.difference < 1e-5


@pytest.mark.long
def test_each_turn_follows_from_the_one_before(recipe):
    assert recipe.turns[0].fed == START
    for before, after in zip(recipe.turns, recipe.turns[1:], strict=False):
        assert after.fed == before.written
        assert np.abs(after.weights - before.weights).max() > 1e-3
    for turn in recipe.turns:
        np.testing.assert_allclose(turn.weights.sum(), 1.0)
        assert turn.weights.argmax() == turn.scores.argmax()


@pytest.mark.long
def test_every_step_is_shown(recipe):
    report = recipe.report()
    assert [row[0] for row in report.tables[1].rows] == [
        '2.1 align',
        '2.2 softmax',
        '2.3 context',
        '2.4 decode',
        '2.5 repeat',
    ]
    assert report.tables[0].columns == ('', *TEXT.split())
    turns = json.loads(report.json())['turns']
    np.testing.assert_allclose(turns[2]['context'], recipe.turns[2].context)


def test_nothing_to_read_is_refused():
    with pytest.raises(UserError, match='the text has no words'):
        Recipe.of('  ', turns=1, width=4, seed=0)
