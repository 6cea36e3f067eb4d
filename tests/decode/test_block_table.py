# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Pages of rows: counted by their users, copied before a shared one is written, used again, and run out of."""

import random
from collections import Counter

import pytest

from saccade.decode.block_table import (
    BlockTables,
    PoolIsFullError,
    add_readings,
    add_texts,
    pages_needed,
    reading_of,
    readings,
)


def test_a_row_has_as_many_pages_as_its_tokens_fill():
    tables = BlockTables(4)
    row = tables.add()
    for tokens, pages in ((0, 0), (1, 1), (3, 1), (1, 2), (8, 4)):
        assert tables.grow(row, tokens) == []
        assert len(tables.rows[row]) == tables.used == pages
    assert tables.room(row) == 3
    tables.remove(row)
    assert (tables.used, tables.most_used) == (0, 4)


def test_a_shared_page_is_copied_before_a_row_writes_in_it_and_the_last_row_keeps_it():
    tables = BlockTables(4)
    first = tables.add()
    tables.grow(first, 6)
    second, third = (tables.add(first, 6) for _ in range(2))
    assert tables.rows[first] == tables.rows[second] == tables.rows[third] == [0, 1]
    assert tables.used == 2
    assert tables.grow(second, 1) == [(1, 2)]
    assert tables.grow(third, 1) == [(1, 3)]
    assert tables.grow(first, 1) == []
    assert [tables.rows[row] for row in (first, second, third)] == [[0, 1], [0, 2], [0, 3]]
    assert tables.grow(second, 1) == []  # its own by now


def test_at_the_end_of_a_page_nothing_is_copied():
    tables = BlockTables(4)
    first = tables.add()
    tables.grow(first, 8)
    second = tables.add(first, 8)
    assert tables.grow(second, 1) == tables.grow(first, 1) == []
    assert [tables.rows[row] for row in (first, second)] == [[0, 1, 3], [0, 1, 2]]


def test_pages_of_removed_rows_are_used_again_wherever_they_are():
    tables = BlockTables(2, 6)
    rows = [tables.add() for _ in range(3)]
    for _ in range(2):  # in turns, so that no row's pages are neighbours
        for row in rows:
            tables.grow(row, 2)
    assert [tables.rows[row] for row in rows] == [[0, 3], [1, 4], [2, 5]]
    tables.remove(rows[1])
    new = tables.add()
    tables.grow(new, 4)
    assert sorted(tables.rows[new]) == [1, 4]
    with pytest.raises(PoolIsFullError):
        tables.grow(new, 1)
    assert tables.most_used == 6


def test_whatever_rows_do_each_page_in_use_has_as_many_users_as_rows_have_it():
    random.seed(0)
    tables, rows = BlockTables(3, 40), []
    for _ in range(2000):
        turn = random.random()
        try:
            if turn < 0.2 or not rows:
                rows.append(tables.add())
            elif turn < 0.35:
                source = random.choice(rows)
                rows.append(tables.add(source, random.randint(0, tables.lengths[source])))
            elif turn < 0.55:
                tables.remove(rows.pop(random.randrange(len(rows))))
            else:
                row = random.choice(rows)
                for source, target in tables.grow(row, random.randint(1, 5)):
                    assert source not in tables.rows[row]
                    assert target in tables.rows[row]
                used = Counter(page for each in rows for page in tables.rows[each])
                if tables.lengths[row] % 3:
                    assert used[tables.rows[row][-1]] == 1  # what it writes next is its own
        except PoolIsFullError:
            tables.remove(rows.pop(rows.index(row)))
        used = Counter(page for each in rows for page in tables.rows[each])
        assert used == tables._users
        assert tables.used == len(used) <= 40
        assert not used.keys() & {*tables._free}


def test_prompts_share_whole_pages_of_a_common_beginning():
    prompts = [range(20), [*range(9), 50, 51, 52, 53], range(20), [*range(13), 60, 61], [7]]
    plan = readings(prompts, 4)
    assert [(reading.source, reading.start) for reading in plan] == [(None, 0), (0, 8), (0, 12), (None, 0)]
    assert [reading.copied for reading in plan] == [{8, 12}, set(), set(), set()]
    assert reading_of(prompts, plan) == [0, 1, 0, 2, 3]
    tables = BlockTables(4)
    rows = add_readings(tables, plan)
    assert [tables.rows[row] for row in rows] == [[0, 1, 2, 3, 4], [0, 1, 5], [0, 1, 2, 6], []]
    texts = add_texts(tables, plan, rows, [0, 1, 0, 2, 3])
    assert [len(tables.rows[row]) for row in texts] == [5, 3, 5, 4, 0]
    assert tables.used == 7


@pytest.mark.parametrize(
    ('prompt', 'new', 'pages'), [(100, 200, 1 + 16 * 4), (65, 63, 1 + 16), (64, 1, 16), (1, 64, 16)]
)
def test_pages_of_samples_are_those_of_the_prompt_once_and_of_the_rest_each(prompt, new, pages):
    """All but the last token of the prompt are read, and all but the last new one: 99 + 200 tokens in pages of 64."""
    assert pages_needed(16 * [list(range(prompt))], 64, new) == pages
