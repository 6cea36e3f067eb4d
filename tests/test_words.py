# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Plain words: docstrings begin with a noun or a verb, and phrases that need a second reading are rare."""

import house
import pytest

LIMIT = 20  # in all of house.WRITTEN


def test_no_docstring_begins_with_a_clause():
    assert [place for places in house.clauses().values() for place in places] == []


@pytest.mark.parametrize('word', house.WORDS)
def test_a_phrase_is_rare(word):
    by_room = {room: counts[word] for room, counts in house.words().items() if counts[word]}
    assert sum(by_room.values()) <= LIMIT, by_room


def test_words_are_counted(tmp_path, monkeypatch):
    (tmp_path / 'launch').mkdir()
    (tmp_path / 'launch' / 'one.py').write_text(
        '"""What stands beside it."""\n\n\ndef f():\n    """Whatever stands."""\n'
    )
    (tmp_path / 'docs' / 'reference').mkdir(parents=True)
    (tmp_path / 'docs' / 'reference' / 'made.md').write_text('so it is')
    monkeypatch.setattr(house, 'ROOT', tmp_path)
    assert house.clauses() == {'launch': ['launch/one.py:1']}
    assert house.words()['launch'] == {'stands': 2, 'beside': 1, 'so it is': 0, 'of which': 0, 'those of': 0}
