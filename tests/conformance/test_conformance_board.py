# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The board: the committed results, the pages written from them, and a reproduction of each failure."""

import pytest

from conformance import board
from conformance.contracts import CONTRACTS
from conformance.libraries import saccade

RESULTS = board.results()
FAILURES = {(of['library'], layer, contract) for of in RESULTS for layer, contract, _ in board.failures(of)}
COVERED = set().union(*(one.covers for one in board.reproductions()))


def test_the_pages_are_those_of_the_results():
    docs = board.ROOT / 'docs'
    assert (docs / 'results' / 'conformance.md').read_text() == board.markdown(RESULTS)
    assert (docs / '_static' / 'conformance.html').read_text() == board.html(RESULTS)


def test_every_failure_is_shown_without_saccade_and_nothing_else_is():
    assert FAILURES == COVERED


@pytest.mark.parametrize('of', RESULTS, ids=lambda of: of['library'])
def test_every_layer_was_held_to_every_contract(of):
    assert all(list(verdicts) == list(CONTRACTS) for verdicts in of['layers'].values())
    assert of['versions']


def test_saccade_fails_no_contract():
    assert RESULTS[0]['library'] == 'Saccade'
    assert list(board.failures(RESULTS[0])) == []


def test_every_mixer_of_saccade_is_on_the_board():
    assert list(RESULTS[0]['layers']) == list(saccade.layers())


def test_six_libraries_and_sixty_layers_are_on_the_board():
    assert len(RESULTS) >= 6
    assert sum(len(of['layers']) for of in RESULTS[1:]) >= 60


@pytest.mark.parametrize('one', board.reproductions(), ids=lambda one: one.name)
def test_a_reproduction_does_not_need_saccade(one):
    text = (board.HERE / 'reproductions' / one.name).read_text()
    assert 'import saccade' not in text
    assert 'from saccade' not in text
    assert 'import conformance' not in text
    assert 'from conformance' not in text
